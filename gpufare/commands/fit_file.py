"""`fit --from-csv`: memory of many jobs, one in each row of a file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from gpufare.cli import UsageFault, complain
from gpufare.commands.options import Output, emit
from table.view import Row, Shown, View, column


def answer_file(file: Path, out: Output) -> None:
    """An answer for each row, exit code 1 where some have none. Raises UsageFault for a file that holds no jobs."""
    from planner.job_csv import ColumnsError

    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(_file_rows(lines))
    except ColumnsError as error:
        raise UsageFault(f"{file}: {error}") from None
    except UnicodeDecodeError:
        raise UsageFault(f"{file} is no text in UTF-8") from None
    except OSError as error:
        raise UsageFault(f"{file}: {error.strerror}") from None
    failed = [row for row in rows if row["error"]]
    shown = [column("row"), *_figures(), column("confidence", drop=1), column("error")]
    view = View(
        "fit_many", rows, shown, datetime.now(UTC), {"from_csv": str(file)}, {"rows": len(rows), "errors": len(failed)}
    )
    emit(view, out)
    if failed:
        first = f"row {failed[0]['row']}: {failed[0]['error']}"
        complain(f"{len(failed)} of {len(rows)} rows have no estimate; the first is {first}")
        click.get_current_context().exit(1)


def _figures() -> list[Shown]:
    def shown(heading: str, name: str) -> Shown:
        return Shown(heading, lambda row: "?" if row[name] is None else f"{row[name]:.2f}", "right", name=name)

    return [shown("LOW GiB", "low_gib"), shown("EXPECTED GiB", "expected_gib"), shown("HIGH GiB", "high_gib")]


def _file_rows(lines: Any) -> Iterator[Row]:
    """An answer for each row of the file, in order, counted from 1."""
    from planner.fit import JobError, Refused, estimate
    from planner.job_csv import jobs

    for number, job in enumerate(jobs(lines), start=1):
        row: dict[str, Any] = dict.fromkeys(("row", "low_gib", "expected_gib", "high_gib", "confidence", "error"))
        row["row"] = number
        try:
            if isinstance(job, JobError):
                raise job
            found = estimate(job)
        except (JobError, Refused) as error:
            row["error"] = str(error)
        else:
            row |= {name: getattr(found, name) for name in ("low_gib", "expected_gib", "high_gib", "confidence")}
        yield row
