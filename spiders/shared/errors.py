"""What can go wrong with a provider's answer, one class for each kind, so that a report can name it.

Every message says what was expected and what came. The class names are those of `schemas.scrape.ERROR_CLASSES`.
"""

from __future__ import annotations


class AnswerError(Exception):
    """The answer cannot be used. Nothing of this crawl is believed."""


class Blocked(AnswerError):
    """403, 429 or a challenge page: the provider does not want to be asked now, or not by us."""


class RobotsDisallowed(AnswerError):
    """robots.txt forbids the address."""


class LoginWall(AnswerError):
    """A page that asks for a login where a price list was."""


class AuthMissing(AnswerError):
    """The provider wants a key that is not set, or refused the one that is."""


class LayoutChanged(AnswerError):
    """A page without the anchors that it is read by."""


class SchemaDrift(AnswerError):
    """A document without the keys, or with other types, than it is read by."""


class Empty(AnswerError):
    """A well-formed answer that offers nothing."""


class Truncated(AnswerError):
    """Not all of the list came: a page is missing, a clamp was hit, a body ends early."""


class HttpError(AnswerError):
    """A status that is none of the above."""


class BrowserMissing(AnswerError):
    """The page needs a browser and there is none."""
