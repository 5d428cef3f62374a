"""The table on a terminal: as wide as the terminal, plain where standard output is none.

Written by hand: importing a renderer costs as much time as answering the question. Cells are cut only in columns of
text; a number stands whole or, with its column, not at all, and then the last line names the column.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, NamedTuple

from table.cells import safe
from table.view import SAMPLE, Row, Shown, View

GAP = "  "
NARROW, NARROWEST = 12, 6
BOLD, DIM, YELLOW, RESET = "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[0m"


class Terminal(NamedTuple):
    """What the table is written on: its width (None: as wide as the rows are) and whether it takes colours."""

    width: int | None = None
    colour: bool = False

    @classmethod
    def of(cls, out: IO[str], environment: Mapping[str, str] = os.environ) -> Terminal:
        """The terminal behind a stream. NO_COLOR, TERM=dumb and a stream that is no terminal mean no colours."""
        if not out.isatty():
            return cls()
        plain = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
        import shutil

        return cls(shutil.get_terminal_size((100, 24)).columns, not plain)


def render(view: View, terminal: Terminal) -> Iterator[str]:
    """Lines of the table, each with its end."""

    def styled(text: str, style: str) -> str:
        return f"{style}{text}{RESET}" if terminal.colour else text

    if view.sample:
        yield styled(SAMPLE, BOLD + YELLOW) + "\n"
    for line in view.header:
        yield from (styled(part, DIM) + "\n" for part in wrapped(safe(line), terminal.width))
    rows: list[Row] = view.all_columns(view.most)
    columns = [column for column in view.shown if column.when(rows)]
    body = cells(rows, columns)
    kept, widths = fit(columns, body, terminal.width)
    if rows:
        headings = [_padded(columns[i].heading, widths[i], columns[i].align != "left") for i in kept]
        yield styled(GAP.join(headings).rstrip(), BOLD) + "\n"
        for row in body:
            yield (
                GAP.join(_padded(_cut(row[i], widths[i]), widths[i], columns[i].align != "left") for i in kept).rstrip()
                + "\n"
            )
    dropped = [columns[i].heading for i in range(len(columns)) if i not in kept]
    narrow = [view.narrow.format(columns=", ".join(dropped))] if dropped else []
    for line in (*view.notes, *narrow):
        yield from (styled(part, DIM) + "\n" for part in wrapped(safe(line), terminal.width))


def cells(rows: Sequence[Row], columns: Sequence[Shown]) -> list[list[str]]:
    """The text of every cell; nothing is blank, and prices stand point under point."""
    by_column = []
    ranked = [{"rank": rank, **row} for rank, row in enumerate(rows, 1)]
    for column in columns:
        texts = [column.text(row) or "-" for row in ranked]
        by_column.append(_pointed(texts) if column.align == "point" else texts)
    return [list(row) for row in zip(*by_column, strict=True)] if columns else []


def _pointed(texts: list[str]) -> list[str]:
    # Some languages write 1.234,50: the last sign of the two is the point.
    points = [max(text.rfind("."), text.rfind(",")) for text in texts]
    behind = [len(text) - point if point >= 0 else 0 for text, point in zip(texts, points, strict=True)]
    most = max(behind, default=0)
    return [text + " " * (most - part) for text, part in zip(texts, behind, strict=True)]


def fit(columns: Sequence[Shown], body: list[list[str]], width: int | None) -> tuple[list[int], list[int]]:
    """Which columns stand on the terminal, and how wide each is: text is cut first, then columns give way by `drop`."""
    widths = [max([width_of(column.heading), *(width_of(row[i]) for row in body)]) for i, column in enumerate(columns)]
    kept = list(range(len(columns)))
    if width is None:
        return kept, widths

    def excess() -> int:
        return sum(widths[i] for i in kept) + len(GAP) * (len(kept) - 1) - width

    full = list(widths)
    floor = NARROW
    while excess() > 0:
        widest = max((i for i in kept if columns[i].shrink), key=lambda i: widths[i], default=None)
        least = max(floor, width_of(columns[widest].heading)) if widest is not None else 0
        droppable = [i for i in kept if columns[i].drop]
        if widest is not None and widths[widest] > least:
            widths[widest] -= 1
        elif droppable:
            kept.remove(max(droppable, key=lambda i: columns[i].drop))
            widths = list(full)
        elif floor > NARROWEST:
            floor = NARROWEST
        else:
            break
    return kept, widths


def wrapped(line: str, width: int | None) -> Iterator[str]:
    """A line of words, broken at blanks only: no number is ever torn."""
    if width is None or width_of(line) <= width:
        yield line
        return
    current = ""
    for word in line.split(" "):
        if current and width_of(current) + 1 + width_of(word) > width:
            yield current
            current = f"  {word}"
        else:
            current = f"{current} {word}" if current else word
    yield current


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal: two for East Asian wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _cut(text: str, width: int) -> str:
    if width_of(text) <= width:
        return text
    kept = ""
    for char in text:
        if width_of(kept + char) > width - 1:
            break
        kept += char
    return f"{kept}…"


def _padded(text: str, width: int, right: bool) -> str:
    blanks = " " * max(0, width - width_of(text))
    return blanks + text if right else text + blanks
