"""The two clocks of a question: the span and moment of the world that it is about, and what was believed when."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import click

from gpufare import args
from gpufare.cli import UsageFault

since_option = click.option("--since", metavar="TIME", help="From then on: a day, a time, yesterday, 90d.")
until_option = click.option("--until", metavar="TIME", help="Up to then.")
as_of_option = click.option("--as-of", metavar="TIME", help="As the world stood then: a day, a time, yesterday, 90d.")
known_at_option = click.option("--known-at", metavar="TIME", help="What was believed then; corrections came later.")


class Times(NamedTuple):
    """What was typed, as moments in UTC. `at`: the moment the answer holds for, `now` unless `--as-of` is earlier."""

    at: datetime
    since: datetime | None
    until: datetime | None
    as_of: datetime | None
    known_at: datetime | None

    def asked(self) -> dict[str, datetime | None]:
        """Those that were asked for, for `query` and header of an answer."""
        return {name: getattr(self, name) for name in ("since", "until", "as_of", "known_at")}


def times(
    now: datetime,
    *,
    since: str | None = None,
    until: str | None = None,
    as_of: str | None = None,
    known_at: str | None = None,
) -> Times:
    """Read the options; a day means its start for `since`, else its end. Raises UsageFault."""
    at = moment(as_of, now)
    first, last = args.moment(since, now) if since else None, moment(until, now)
    if first and last and first > last:
        raise UsageFault(f"--since {since} lies after --until {until}")
    if first and at and first > at:
        raise UsageFault(f"--since {since} lies after --as-of {as_of}")
    return Times(min(at or now, now), first, last, at, moment(known_at, now))


def moment(text: str | None, now: datetime) -> datetime | None:
    """The moment that a text means, the end of a day; None where nothing was typed."""
    return None if text is None else args.moment(text, now, end_of_day=True)
