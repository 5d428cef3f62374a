"""The filters that offers, changes and history share: options of the command line, and their reading into `Filters`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from gpufare import args
from gpufare.cli import UsageFault
from gpufare.commands.options import completion, gpu_models, provider_names

if TYPE_CHECKING:
    from storage.filters import Filters
    from storage.lake import Lake


def _purchases() -> list[str]:
    from schemas.raw_offer import PURCHASES

    return [*(word.replace("_", "-") for word in PURCHASES), "any"]


def _segments() -> list[str]:
    from schemas.offer import SEGMENTS

    return list(SEGMENTS)


def _vendors() -> list[str]:
    from schemas.gpu_table import gpu_models as rows

    return list(dict.fromkeys(row.vendor for row in rows()))


def _countries() -> list[str]:
    from schemas.places import countries

    return list(countries())


Option = Callable[[Callable[..., None]], Callable[..., None]]

NETWORKS = ("infiniband", "roce", "efa", "ethernet")
HAS = {"ssh": "ssh", "docker": "docker", "jupyter": "jupyter", "persistent-disk": "storage_outlives_instance"}


def _many(name: str, metavar: str, help: str, known: Callable[[], list[str]] | None = None) -> Option:
    complete = completion(known) if known else None
    return click.option(name, multiple=True, metavar=metavar, help=help, shell_complete=complete)


OWN_MACHINE: tuple[Option, ...] = (
    _many("--gpu", "GPU[:N]", "As the argument: H100, h100-sxm, a100-80gb, H100:8.", gpu_models),
    click.option("--count", metavar="RANGE", help="GPUs of one offer: 8, 1..4, 2.., 1/8."),
    _many("--provider", "NAMES", "Only these providers.", provider_names),
    _many("--region", "NAMES", "The providers' own names of regions."),
    _many("--country", "NAMES", "Codes or names: DE, Germany.", _countries),
    _many("--continent", "NAMES", "EU, NA, AS, ... or their names.", lambda: list(args.CONTINENTS)),
    _many("--purchase", "KINDS", "on-demand, spot, bid, reserved, capacity-block, queued; any.", _purchases),
    _many("--tier", "NAMES", "Class of service in the provider's words."),
)
MACHINE: tuple[Option, ...] = (
    *OWN_MACHINE,
    click.option("--fractional", is_flag=True, help="Let shares of a GPU through --count."),
)
OWN_HARDWARE: tuple[Option, ...] = (
    click.option("--vram", metavar="RANGE", help="GiB of one GPU: 24.., ..80, 40..48, 80."),
    click.option("--total-vram", metavar="RANGE", help="GiB of all GPUs of an offer together."),
    click.option("--max-price", metavar="USD", help="At most so much for one GPU-hour."),
    _many("--vendor", "NAMES", "nvidia, amd, google ...", _vendors),
    _many("--segment", "NAMES", "hyperscaler, neocloud, marketplace, reseller.", _segments),
    click.option("--in-stock", is_flag=True, help="Available or limited, and seen within the freshness window."),
    click.option(
        "--ram", metavar="RANGE", help="GB of the instance's own memory, as sellers count: 64.. keeps 64000 MB."
    ),
    _many("--network", "KINDS", "Between nodes: infiniband, roce, efa, ethernet.", lambda: list(NETWORKS)),
    click.option("--network-gbps", metavar="RANGE", help="Gbit/s of one node, as 400.. or 3200."),
    _many(
        "--has",
        "FACTS",
        "ssh, docker, jupyter, persistent-disk: only providers of which it is known.",
        lambda: list(HAS),
    ),
    click.option("--direct", is_flag=True, help="No resellers: whoever owns the machine."),
)
HARDWARE: tuple[Option, ...] = (
    *OWN_HARDWARE,
    click.option("--serverless", is_flag=True, help="Let in what runs functions or models, not a machine of your own."),
)


def filter_options(*options: Option) -> Option:
    """The options in the order given, and GPUs as arguments."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            function = option(function)
        return click.argument("gpus", nargs=-1, metavar="[GPU[:N]]...", shell_complete=completion(gpu_models))(function)

    return decorate


def build(
    lake: Lake,
    gpus: Iterable[str] = (),
    *,
    gpu: Iterable[str] = (),
    count: str | None = None,
    vram: str | None = None,
    total_vram: str | None = None,
    max_price: str | None = None,
    provider: Iterable[str] = (),
    region: Iterable[str] = (),
    country: Iterable[str] = (),
    continent: Iterable[str] = (),
    purchase: Iterable[str] = (),
    tier: Iterable[str] = (),
    vendor: Iterable[str] = (),
    segment: Iterable[str] = (),
    in_stock: bool = False,
    fractional: bool = False,
    ram: str | None = None,
    network: Iterable[str] = (),
    network_gbps: str | None = None,
    has: Iterable[str] = (),
    direct: bool = False,
    serverless: bool = False,
    disk: float | None = None,
    offer_keys: Iterable[str] = (),
    usual_purchase: tuple[str, ...] = ("on_demand",),
) -> Filters:
    """What was typed as Filters. Raises UsageFault with the nearest right name."""
    from storage.filters import Filters, Gpu

    wanted = [
        Gpu(one.gpu, one.form_factor, one.vram_gib, one.number.low if one.number else None)
        for one in args.gpus([*gpus, *gpu])
    ]
    bought = args.purchases(purchase)
    return Filters(
        gpus=tuple(wanted),
        vendors=_each(vendor, lambda word: args.one_of("vendor", word, _vendors())),
        counts=_span("--count", count),
        vram=_span("--vram", vram),
        total_vram=_span("--total-vram", total_vram),
        providers=tuple(_providers(lake, provider)),
        regions=tuple(_regions(lake, region)),
        countries=_each(country, args.country),
        continents=_each(continent, args.continent),
        purchase=() if bought is None else tuple(bought) or usual_purchase,
        tiers=tuple(_of_store(lake, "tier", tier)),
        segments=_each(segment, lambda word: args.one_of("segment", word, _segments())),
        in_stock=in_stock,
        max_price=_price(max_price),
        fractional=fractional,
        ram=_span("--ram", ram),
        network=_each(network, lambda word: args.one_of("network", word, list(NETWORKS))),
        network_gbps=_span("--network-gbps", network_gbps),
        has=_each(has, lambda word: HAS[args.one_of("fact", word, list(HAS))]),
        direct=direct,
        serverless=serverless,
        disk_gib=disk,
        offer_keys=tuple(offer_keys),
    )


def _each(texts: Iterable[str], read: Callable[[str], str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(read(word) for word in args.listed(texts)))


def _span(what: str, text: str | None) -> tuple[float | None, float | None] | None:
    """A range that everything lies in is none: `--count 0..` must not drop what tells no count."""
    if text is None:
        return None
    read = args.span(what, text)
    return None if not read.low and read.high is None else (read.low, read.high)


def _price(text: str | None) -> Decimal | None:
    if text is None:
        return None
    args.number("--max-price", text.lstrip("$"))
    if "/" in text:
        raise UsageFault(f"--max-price {text!r} is no amount; write 2.5")
    return Decimal(text.strip().lstrip("$"))


def _providers(lake: Lake, texts: Iterable[str]) -> list[str]:
    from schemas.providers import providers

    words = args.listed(texts)
    known = {args.folded(slug) for slug in providers()}
    # Only a name that the facts do not hold is worth a look into the store.
    also = [] if all(args.folded(word) in known for word in words) else distinct(lake, "provider", "scrapes")
    return args.provider_names(words, also) or []


def _of_store(lake: Lake, column: str, texts: Iterable[str]) -> list[str]:
    words = args.listed(texts)
    known = distinct(lake, column) if words else []
    return [args.one_of(column, word, known) for word in words]


def _regions(lake: Lake, texts: Iterable[str]) -> list[str]:
    """The providers' names that a word means: such a name itself, or what people call the place."""
    from schemas.facts import load_csv
    from schemas.places import Region

    words = args.listed(texts)
    if not words:
        return []
    names: dict[str, dict[str, None]] = {}
    spellings: dict[str, None] = {}
    for region in distinct(lake, "region"):
        names.setdefault(args.folded(region), {})[region] = None
        spellings[region] = None
    for row in load_csv("regions.csv", Region):
        for word in (row.region, row.name, row.alias):
            if word:
                names.setdefault(args.folded(word), {})[row.region] = None
                spellings[word] = None
    found: list[str] = []
    for word in words:
        if args.folded(word) not in names:
            raise args.unknown("region", word, spellings)
        found += names[args.folded(word)]
    return list(dict.fromkeys(found))


def distinct(lake: Lake, column: str, table: str = "snapshots") -> list[str]:
    """Every value of a column that the store holds."""
    rows = lake.query(
        f'SELECT DISTINCT "{column}" AS v FROM {lake.relation(table)} WHERE v IS NOT NULL ORDER BY v'  # noqa: S608
    )
    values: list[str] = rows["v"].to_pylist()
    return values


def described(filters: Filters, usual_purchase: bool) -> str:
    """The filters in force as the header of a table tells them, defaults named as such."""
    said: dict[str, Any] = filters.described()
    parts = []
    for name, value in said.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else "yes" if value is True else f"{value}"
        shown = f"{value:g}" if isinstance(value, float) else shown
        note = " (default)" if name == "purchase" and usual_purchase else ""
        parts.append(f"{name.replace('_', ' ')}: {shown}{note}")
    return "; ".join(parts)
