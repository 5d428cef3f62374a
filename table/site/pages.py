"""The pages of one language: which there are, and what each template is given. Jinja2 escapes every value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.change import CAUSES, CHANGE_KINDS, Change
from schemas.gpu_table import rows_by_model
from schemas.messages import Said, languages, messages
from schemas.offer import Offer
from schemas.providers import FACT_NAMES, Provider, providers
from schemas.record import columns
from storage.health import Health
from storage.query import fresh_for_h
from table.cells import safe
from table.offers import gpu_name, region_name
from table.site import figures
from table.site.charts import Line, health_bar, step_chart
from table.site.content import CURRENCIES, Card, Content, Day
from table.site.words import Words, link

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TEMPLATES = Path(__file__).with_name("templates")
SECTIONS = ("index", "fit", "gpus", "providers", "changes", "status", "guide", "method", "data")
PLANNER = "fit"
"""the page that is there where the planner told what jobs need"""
Planned = tuple[dict[str, Any], Sequence[Said | str]]
"""what the planner tells the page's script, and the texts that it names by their place"""
PROSE = ("guide", "method")
"""pages that are a text of the catalogue"""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True, slots=True)
class Download:
    """A file to take: path below the version's folder, rows (None where it is no table), bytes, SHA-256."""

    path: str
    rows: int | None
    size: int
    sha256: str


def slug_of(name: str) -> str:
    """A name as it stands in an address: `RTX 4090` is rtx-4090."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def environment() -> Environment:
    """Jinja2 with escaping for every template; a name that a template misses is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(
        {"languages": languages(), "slug_of": slug_of, "link": link, "policy": POLICY}
        | {"gpu_name": gpu_name, "region_name": region_name, "safe": safe, "fresh": fresh_for_h}
        | {"language_names": {code: messages(code).say("site.language_name") for code in languages()}}
        | {"sample_words": {code: messages(code).say("site.sample") for code in languages()}}
    )
    return made


class Pages:
    """All pages of a language. `shared` is what every template may name besides its own values."""

    def __init__(self, content: Content, words: Words, made: Environment, shared: dict[str, Any]) -> None:
        self.content = content
        self.words = words
        self._environment = made
        self._bars: dict[str, dict[str, Any]] = {}
        self._shared = {"w": words, "t": words.t, "c": content, **shared}

    def all(self, downloads: list[Download], planned: Planned | None = None) -> Iterator[tuple[str, str]]:
        """Path below the language's folder and text of each page."""
        self._shared["sections"] = [name for name in SECTIONS if planned or name != PLANNER]
        if planned:
            yield self._page(PLANNER, planned=planned[0], plan_words=self.words.of_planner(planned[1]))
        yield self._page("index", currencies=[name for name in CURRENCIES if name in self.content.rates])
        yield self._page("gpus", cards=[self._card_line(gpu) for gpu in self.cards])
        for gpu in self.cards:
            yield self._page(f"gpu/{slug_of(gpu)}", template="gpu", **self._gpu(gpu))
        yield self._page("providers", lines=self._provider_lines())
        for health in self.content.health:
            yield self._page(f"provider/{slug_of(health.provider)}", template="provider", **self._provider(health))
        yield self._page("changes", kinds=CHANGE_KINDS, causes=CAUSES)
        yield self._page("status", lines=[self._health(health) for health in self.content.health])
        for name in PROSE:
            parts = [f"{name}.{part}" for part in self.words.messages.topic(f"site.{name}")]
            yield self._page(name, template="prose", parts=parts)
        records = {"offers": Offer, "changes": Change}
        yield self._page("data", downloads=downloads, records={k: columns(v) for k, v in records.items()})

    def empty(self) -> tuple[str, str]:
        """The one page of a store without offers: what to run."""
        self._shared["sections"] = [name for name in SECTIONS if name != PLANNER]
        return self._page("index", template="empty")

    def _page(self, name: str, *, template: str | None = None, **values: Any) -> tuple[str, str]:
        path = f"{name}.html"
        depth = path.count("/")
        text = self._environment.get_template(f"{template or name}.html").render(
            **self._shared, **values, path=path, here=name if name in SECTIONS else template, name=name,
            home="../" * depth, root="../" * (depth + 1),
        )  # fmt: skip
        return path, text

    @cached_property
    def cards(self) -> dict[str, list[Card]]:
        """Every model with a page, and its cards."""
        return figures.cards_of(self.content)

    def _card_line(self, gpu: str) -> dict[str, Any]:
        rows = [row for row in self.content.rows if row["gpu"] == gpu]
        bought = {
            purchase: next((row["usd_per_gpu_hour"] for row in rows if row["purchase"] == purchase), None)
            for purchase in ("on_demand", "spot")
        }
        sizes = sorted({row["vram_gib"] for row in rows if row["vram_gib"]})
        sellers = {row["provider"] for row in rows}
        return {"gpu": gpu, "bought": bought, "sizes": sizes, "sellers": len(sellers), "offers": len(rows)}

    def _gpu(self, gpu: str) -> dict[str, Any]:
        rows = [row for row in self.content.rows if row["gpu"] == gpu]
        by = ("provider", "purchase", "form_factor", "term_months")
        return {
            "gpu": gpu,
            "specification": rows_by_model().get(gpu, ()),
            "cards": [self._card(card) for card in self.cards[gpu]],
            "sold": figures.cheapest(rows, by),
        }

    def _card(self, card: Card) -> dict[str, Any]:
        today = self.content.as_of.date()
        bought = self.content.histories.get(card, {})
        name = " ".join(part for part in card if part)
        is_untold = card[1] is None and len(self.cards[card[0]]) > 1
        return {
            "name": name,
            "heading": self.words.t("form_unknown", name=safe(name)) if is_untold else safe(name),
            "bought": {
                purchase: {
                    "now": figures.now_of(points, today),
                    "spans": figures.spans(points, today),
                    "steps": figures.steps(points),
                }
                for purchase, points in bought.items()
            },
            "charts": {days: self._chart(card, name, days) for days in figures.SPANS},
        }

    def _chart(self, card: Card, name: str, days: int) -> Markup | None:
        bought = self.content.histories.get(card, {})
        today = self.content.as_of.date()
        on_demand = bought.get("on_demand", ())
        lines = [
            Line("median", [(point.day, point.median, point.state) for point in on_demand]),
            Line("spot", [(point.day, point.lowest, point.state) for point in bought.get("spot", ())]),
            Line("lowest", [(point.day, point.lowest, point.state) for point in on_demand]),
        ]
        return step_chart(
            lines,
            today - timedelta(days=days - 1),
            today,
            title=self.words.t("chart.title", name=name, days=days),
            number=lambda value: self.words.messages.number(value, "#,##0.00##"),
            day=self.words.day,
        )

    def _provider_lines(self) -> list[dict[str, Any]]:
        rows = figures.providers_of(self.content.rows)
        return [
            {"health": health, "facts": providers().get(health.provider), "offers": len(rows.get(health.provider, ()))}
            for health in self.content.health
        ]

    def _provider(self, health: Health) -> dict[str, Any]:
        facts = providers().get(health.provider)
        rows = [row for row in self.content.rows if row["provider"] == health.provider]
        return {
            **self._health(health),
            "facts": facts,
            "known": self._facts(facts),
            "sold": figures.cheapest(rows, ("gpu", "form_factor", "purchase", "term_months")),
            "back": self.content.kept_back.get(health.provider, 0),
        }

    def _facts(self, facts: Provider | None) -> list[tuple[str, Any]]:
        return [] if facts is None else [(n, facts.facts[n]) for n in FACT_NAMES if n in facts.facts]

    def _health(self, health: Health) -> dict[str, Any]:
        if health.provider not in self._bars:
            self._bars[health.provider] = self._bar(health)
        return self._bars[health.provider]

    def _bar(self, health: Health) -> dict[str, Any]:
        days = self.content.days.get(health.provider, ())
        said = [(day.word, "" if day.word == "none" else self._day(day)) for day in days]
        good = sum(day.word == "good" for day in days)
        asked = sum(day.word != "none" for day in days)
        told = self.words.t("health.told", good=good, asked=asked)
        return {"health": health, "bar": health_bar(said, title=told) if said else None, "told": told}

    def _day(self, day: Day) -> str:
        word = self.words.t(f"health.{day.word}")
        return f"{self.words.day(day.day)}: {word}" + (f" ({day.error})" if day.error else "")
