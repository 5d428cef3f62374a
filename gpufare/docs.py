"""Documentation that cannot rot: tables in the READMEs are written from the code that they describe.

`python -m gpufare.docs` fills what stands between `<!-- generated: NAME -->` and `<!-- end -->`; with `--check` it
writes nothing and exits with 1 where a file would change. Spiders are read, never imported.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
HEADINGS = ("Docs", "Gives", "Lacks", "Quirk")


class DocsError(ValueError):
    """A README asks for a block that nobody makes, or opens one that never ends."""


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for row in rows:
        cells = (" ".join(str(cell).split()).replace("|", "\\|") for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def commands() -> str:
    """Every command under its heading, with its alias."""
    from gpufare.cli import ALIASES, COMMANDS

    aliases: dict[str, list[str]] = {}
    for alias, name in ALIASES.items():
        aliases.setdefault(name, []).append(alias)
    headings = list(dict.fromkeys(heading for _, _, heading in COMMANDS.values()))
    rows = []
    for name, (_, does, heading) in sorted(COMMANDS.items(), key=lambda item: headings.index(item[1][2])):
        also = f" (also `{'`, `'.join(aliases[name])}`)" if name in aliases else ""
        rows.append((heading, f"`{name}`{also}", does))
    return table(("", "command", "does"), rows)


def providers() -> str:
    """Every provider that is collected, and what its first recorded night holds: kinds of purchase, stock, regions."""
    from schemas.providers import providers as known
    from spiders.shared.source import proof

    rows = []
    for slug, facts in sorted(known().items()):
        if facts.status != "active":
            continue
        access: str = facts.access
        if facts.keys or facts.optional_keys:
            access += f" (`{'`, `'.join((*facts.keys, *facts.optional_keys))}`)"
        offers = recorded_offers(slug)
        bought = sorted({offer["purchase"].replace("_", " ") for offer in offers})
        regions = {offer.get("region") or offer.get("country") for offer in offers} - {None}
        name = f"[{facts.title}]({facts.homepage}) `{slug}`"
        rows.append(
            (
                name,
                facts.segment,
                access,
                proof(slug),
                ", ".join(bought),
                stock(offers),
                len(regions) or "-",
                len(offers),
            )
        )
    return table(("provider", "segment", "access", "proof", "purchase", "stock", "regions", "offers"), rows)


def recorded_offers(slug: str) -> list[dict[str, Any]]:
    """What the first recorded night of a provider is expected to give; empty where there is none."""
    from spiders.shared.source import RECORDED

    path = RECORDED / slug / "2026-11-29-night" / "offers.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def stock(offers: Iterable[dict[str, Any]]) -> str:
    """How a provider tells stock: a number, a word (available, limited, sold out), or not at all."""
    offers = list(offers)
    if any("available_count" in offer for offer in offers):
        return "count"
    return "level" if any(offer["availability"] != "unknown" for offer in offers) else "-"


def absent() -> str:
    """Every provider that is not collected, and why."""
    from schemas.providers import providers as known

    rows = (
        (f"[{facts.title}]({facts.homepage}) `{slug}`", facts.status.replace("_", " "), facts.status_reason)
        for slug, facts in sorted(known().items())
        if facts.status != "active"
    )
    return table(("provider", "status", "why"), rows)


def spiders() -> str:
    """What every spider says it gives and lacks."""
    from schemas.providers import providers as known

    rows = []
    for slug in sorted(known()):
        if said := spider_headings(slug):
            rows.append((f"`{slug}`", said.get("Gives", ""), said.get("Lacks", "")))
    return table(("spider", "gives", "lacks"), rows)


def spider_headings(slug: str) -> dict[str, str]:
    """What a spider's docstring says under its headings; empty where there is no spider."""
    spec = find_spec(f"spiders.{slug}")
    if spec is None or spec.origin is None:
        return {}
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    said: dict[str, str] = {}
    heading = ""
    for line in text.splitlines():
        if match := re.match(rf"({'|'.join(HEADINGS)}):\s*(.*)", line):
            heading, said[match[1]] = match[1], match[2]
        elif heading and line.strip():
            said[heading] += " " + line.strip()
        else:
            heading = ""
    return said


def dictionary_of(module: str, record: str) -> Callable[[], str]:
    """The columns of a record, from its declaration."""

    def written() -> str:
        from importlib import import_module

        from schemas.record import dictionary

        rows = dictionary(getattr(import_module(module), record))
        return table(
            ("column", "type", "unit", "null", "meaning"),
            ((f"`{row['column']}`", row["type"], row["unit"], row["null"], row["meaning"]) for row in rows),
        )

    return written


def gate_checks() -> str:
    """The gate's checks with their bounds."""
    from storage.gate import CHECKS

    rows = ((f"`{check.name}`", check.means, check.bound, check.worst) for check in CHECKS)
    return table(("check", "looks at", "bound", "at worst"), rows)


def fact_tables() -> str:
    """The tables of facts: how many rows, and where they come from."""
    import csv
    import tomllib

    schemas = ROOT / "schemas"
    rows: list[tuple[str, int, str]] = []
    for path in sorted(schemas.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            found = list(csv.DictReader(file))
        sources: dict[str, int] = {}
        for row in found:
            for source in (row.get("source") or "").split(";"):
                if name := re.sub(r"https?://([^/]+).*", r"\1", source.strip()):
                    sources[name] = sources.get(name, 0) + 1
        most = sorted(sources, key=lambda name: (-sources[name], name))
        rest = f" and {len(most) - 12} more" if len(most) > 12 else ""
        rows.append((f"`{path.name}`", len(found), "; ".join(most[:12]) + rest or "ISO 3166"))
    for path in sorted(schemas.glob("*.toml")):
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
        count = sum(len(entry) if isinstance(entry, list) else 1 for entry in entries.values())
        rows.append((f"`{path.name}`", count, "each entry names its own"))
    return table(("table", "rows", "sources"), rows)


BLOCKS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "providers": providers,
    "absent": absent,
    "spiders": spiders,
    "offer-columns": dictionary_of("schemas.offer", "Offer"),
    "change-columns": dictionary_of("schemas.change", "Change"),
    "scrape-columns": dictionary_of("schemas.scrape", "Scrape"),
    "rate-columns": dictionary_of("schemas.rate", "Rate"),
    "gate-checks": gate_checks,
    "fact-tables": fact_tables,
}


def filled(text: str, file: str = "README.md") -> str:
    """The text with every generated block written anew. Raises DocsError."""

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in BLOCKS:
            raise DocsError(f"{file} asks for a generated block {name!r}; there are {', '.join(BLOCKS)}")
        return f"{match[1]}{BLOCKS[name]()}{match[4]}"

    written = BLOCK.sub(block, text)
    if written.count("<!-- generated:") != len(BLOCK.findall(written)):
        raise DocsError(f"{file} opens a generated block that does not end with <!-- end -->")
    return written


def readmes(root: Path = ROOT) -> list[Path]:
    """The Markdown files that may hold generated blocks: of the repository's root and of its packages."""
    return sorted([*root.glob("*.md"), *root.glob("*/*.md")])


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Write the blocks, or under `--check` say which file is out of date. The exit code."""
    outdated = []
    for path in readmes(root):
        text = path.read_text(encoding="utf-8")
        written = filled(text, str(path.relative_to(root)))
        if written != text:
            outdated.append(str(path.relative_to(root)))
            if "--check" not in arguments:
                path.write_text(written, encoding="utf-8")
    for name in outdated:
        stale = f"{name} is out of date; run: python -m gpufare.docs"
        print(stale if "--check" in arguments else f"{name} written", file=sys.stderr)
    return 1 if outdated and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
