"""`Ledger`: the questions of the command line from Python; answers are pandas frames, or Arrow with `arrow=True`.

Money stays decimal: a frame's price columns have the dtype `decimal128(24, 10)[pyarrow]`. The frame of a sample store
says so in `attrs["notice"]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any, Literal, overload

from gpufare import args
from gpufare.cli import UsageFault
from gpufare.commands.filters import build
from table.view import SAMPLE

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from storage.filters import Filters
    from storage.lake import Lake

When = str | date | datetime | None


class Ledger:
    """A store, opened for reading.

    Filters are those of `gpufare offers`, by the same names, as a text or a list of texts: gpu, count, vram,
    total_vram, max_price, provider, region, country, continent, purchase, tier, vendor, segment, in_stock, fractional,
    ram, network, network_gbps, has, direct, serverless, disk.
    Times are texts as on the command line (`"2026-11-29"`, `"yesterday"`, `"90d"`), days or instants; what has no zone
    is UTC.

    >>> ledger = Ledger(store)
    >>> frame = ledger.offers("H100-SXM", count="8", as_of="2026-11-30")
    >>> frame[["provider", "gpu_count", "usd_per_gpu_hour"]].values.tolist()
    [['hyperbolic', 8.0, Decimal('1.6568000000')], ['lambda', 8.0, Decimal('2.9900000000')]]
    >>> frame["usd_per_gpu_hour"].dtype
    decimal128(24, 10)[pyarrow]

    Raises storage.lake.NoStore where there is no store, ValueError with the nearest right name for a wrong word.

    >>> ledger.offers("H10O")
    Traceback (most recent call last):
    ValueError: no GPU 'H10O'; did you mean H100?
    """

    def __init__(self, path: str, *, storage_options: dict[str, str] | None = None) -> None:
        from storage.lake import Lake

        self._lake: Lake = Lake.open(path, storage_options=storage_options)

    @property
    def sample(self) -> bool:
        """Does the store hold a sample from recordings instead of market prices?"""
        return self._lake.origin != "live"

    @overload
    def offers(
        self, *gpus: str, as_of: When = ..., known_at: When = ..., sort: str = ..., limit: int | None = ...,
        unit_prices: Iterable[str] = ...,
        arrow: Literal[False] = ..., **filters: Any,
    ) -> pd.DataFrame: ...  # fmt: skip
    @overload
    def offers(
        self, *gpus: str, as_of: When = ..., known_at: When = ..., sort: str = ..., limit: int | None = ...,
        unit_prices: Iterable[str] = ...,
        arrow: Literal[True], **filters: Any,
    ) -> pa.Table: ...  # fmt: skip
    def offers(
        self,
        *gpus: str,
        as_of: When = None,
        known_at: When = None,
        sort: str = "usd_per_gpu_hour",
        limit: int | None = None,
        unit_prices: Iterable[str] = (),
        arrow: bool = False,
        **filters: Any,
    ) -> pd.DataFrame | pa.Table:
        """The comparison table: Offer's columns, age_s, stale, carried_forward; on demand unless `purchase` says more.

        `unit_prices`: usd_per_gib_hour, usd_per_bf16_tflop_hour, usd_per_gbs_hour, of which each may also be `sort`.

        >>> ledger = Ledger(store)
        >>> table = ledger.offers("rtx4090", purchase="any", sort="price", as_of="2026-11-30", arrow=True)
        >>> [(row["purchase"], row["tier"]) for row in table.select(["purchase", "tier"]).to_pylist()][:2]
        [('bid', 'community'), ('on_demand', None)]
        >>> frame = ledger.offers("H100-SXM", provider="lambda", sort="usd_per_gib_hour", as_of="2026-11-30")
        >>> frame["usd_per_gib_hour"].tolist()
        [Decimal('0.0373750000')]
        """
        from storage.figures import UNIT_PRICES
        from storage.query import SORTS, offers

        now = self._lake.clock(datetime.now(UTC))
        with _plainly():
            answer = offers(
                self._lake,
                self._filters(gpus, filters),
                now=now,
                as_of=_moment(as_of, now, end_of_day=True),
                known_at=_moment(known_at, now, end_of_day=True),
                sort=args.one_of("sort key", sort, list(SORTS)),
                limit=limit,
                unit_prices=[args.one_of("unit price", name, list(UNIT_PRICES)) for name in unit_prices],
            )
        return self._given(answer.table, arrow)

    def changes(
        self,
        *gpus: str,
        since: When = None,
        until: When = None,
        known_at: When = None,
        after: str | None = None,
        everything: bool = False,
        arrow: bool = False,
        **filters: Any,
    ) -> pd.DataFrame | pa.Table:
        """What moved, newest first (with `after`, a change_id, what follows it, oldest first): Change's columns.

        >>> frame = Ledger(store).changes("H100", since="2026-11-30", provider="hyperbolic")
        >>> sorted(frame["kind"])
        ['added', 'price_down', 'removed']
        """
        from storage.news import changes

        now = self._lake.clock(datetime.now(UTC))
        with _plainly():
            answer = changes(
                self._lake,
                self._filters(gpus, filters, ()),
                since=_moment(since, now),
                until=_moment(until, now, end_of_day=True),
                known_at=_moment(known_at, now, end_of_day=True),
                after=after,
                all=everything,
            )
        return self._given(answer.table, arrow)

    def history(
        self,
        *gpus: str,
        since: When = None,
        until: When = None,
        known_at: When = None,
        every: str | None = None,
        per: Literal["gpu", "offer"] = "gpu",
        arrow: bool = False,
        **filters: Any,
    ) -> pd.DataFrame | pa.Table:
        """Prices and stock over time: one row for each step of each offer; see `storage.series.history`.

        With `every` (hour, day, week, month) one row for each of these and card (its lowest and median price), or with
        `per="offer"` each offer: observed, carried, missing or failed, never interpolated; see `storage.filled`.

        >>> frame = Ledger(store).history("H100-SXM", count="8", provider="hyperbolic")
        >>> [(event, float(price)) for event, price in frame[["event", "usd_per_gpu_hour"]].values.tolist()]
        [('first', 2.0), ('price', 1.6568)]
        >>> frame = Ledger(store).history("H100-SXM", every="day", until="2026-11-30", provider="nebius")
        >>> [(state, float(price)) for state, price in frame[["state", "usd_per_gpu_hour"]].values.tolist()]
        [('observed', 2.2), ('failed', 2.2)]
        """
        from storage.filled import filled
        from storage.series import history

        now = self._lake.clock(datetime.now(UTC))
        with _plainly():
            wanted = self._filters(gpus, filters)
            span = {
                "since": _moment(since, now),
                "until": _moment(until, now, end_of_day=True),
                "known_at": _moment(known_at, now, end_of_day=True),
            }
            step: Any = None if every is None else args.one_of("step", every, ("hour", "day", "week", "month"))
        if step is None:
            table = history(self._lake, wanted, **span)
        else:
            table = filled(self._lake, wanted, every=step, per=per, now=now, **span)
        return self._given(table, arrow)

    def index(
        self,
        *gpus: str,
        since: When = None,
        until: When = None,
        as_of: When = None,
        known_at: When = None,
        rows: bool = False,
        arrow: bool = False,
        **filters: Any,
    ) -> pd.DataFrame | pa.Table:
        """Median, quartiles and lowest price by day, newest first; `rows`: those behind the figures, with what was left
        out and why. Under three providers the figures are null; see `storage.index`.

        >>> ledger = Ledger(store)
        >>> frame = ledger.index("H100-SXM", since="2026-11-29", until="2026-11-29")
        >>> frame[["providers", "offers", "stale"]].values.tolist()
        [[3, 6, 1]]
        >>> float(frame["median_usd_per_gpu_hour"][0]), float(frame["lowest_usd_per_gpu_hour"][0])
        (2.175, 2.0)
        >>> rows = ledger.index("H100-SXM", since="2026-11-29", until="2026-11-29", rows=True)
        >>> sorted(rows[rows["left_out"].isna()]["provider"].unique())
        ['hyperbolic', 'lambda', 'nebius']
        """
        from storage.index import index

        wanted, when = self._asked(gpus, filters, since=since, until=until, as_of=as_of, known_at=known_at)
        answer = index(self._lake, wanted, **when)
        return self._given(answer.rows if rows else answer.table, arrow)

    def ratio(
        self,
        *gpus: str,
        since: When = None,
        until: When = None,
        as_of: When = None,
        known_at: When = None,
        rows: bool = False,
        arrow: bool = False,
        **filters: Any,
    ) -> pd.DataFrame | pa.Table:
        """Spot over on demand of each shape and its volatility; `rows`: day by day. See `storage.index.ratio`.

        >>> frame = Ledger(store).ratio("V100", count="1")
        >>> [(region, round(ratio, 3)) for region, ratio in frame[["region", "ratio"]].values.tolist()]
        [('ap-east-1', 0.262), ('eu-west-1', 0.3), ('us-central-1', 0.351)]
        """
        from storage.index import ratio

        wanted, when = self._asked(gpus, filters, since=since, until=until, as_of=as_of, known_at=known_at)
        answer = ratio(self._lake, wanted, **when)
        return self._given(answer.rows if rows else answer.table, arrow)

    def stock(
        self,
        *gpus: str,
        since: When = None,
        until: When = None,
        as_of: When = None,
        known_at: When = None,
        rows: bool = False,
        arrow: bool = False,
        **filters: Any,
    ) -> pd.DataFrame | pa.Table:
        """Share of scrapes in stock by provider, card, form factor and region; `rows`: the scrapes behind it.

        >>> frame = Ledger(store).stock("rtx4090", provider="hyperbolic")
        >>> frame[["in_stock_share", "told", "unknown", "absent", "scrapes"]].values.tolist()
        [[0.5, 2.0, 0.0, 0.0, 2.0]]
        """
        from storage.stock import stock

        wanted, when = self._asked(gpus, filters, since=since, until=until, as_of=as_of, known_at=known_at)
        answer = stock(self._lake, wanted, **when)
        return self._given(answer.rows if rows else answer.table, arrow)

    def diff(
        self, earlier: When, later: When, *gpus: str, known_at: When = None, arrow: bool = False, **filters: Any
    ) -> pd.DataFrame | pa.Table:
        """What differs between two days, each as its end stood: Change's columns with `what`.

        >>> sorted(Ledger(store).diff("2026-11-29", "2026-11-30")["what"])
        ['gone', 'new', 'price_down', 'stock']
        """
        from storage.series import diff

        now = self._lake.clock(datetime.now(UTC))
        with _plainly():
            first, second = (_moment(when, now, end_of_day=True) or now for when in (earlier, later))
            known = _moment(known_at, now, end_of_day=True)
            answer = diff(self._lake, first, second, self._filters(gpus, filters, ()), known_at=known)
        return self._given(answer.table, arrow)

    def status(self, *, as_of: When = None, known_at: When = None, arrow: bool = False) -> pd.DataFrame | pa.Table:
        """Health of every provider, now or `as_of` a moment.

        >>> frame = Ledger(store).status()
        >>> frame[frame["provider"] == "nebius"][["state", "error_class"]].values.tolist()
        [['failing', 'Blocked']]
        """
        from dataclasses import asdict

        import pyarrow as pa

        from storage.health import status

        now = self._lake.clock(datetime.now(UTC))
        with _plainly():
            then, known = (_moment(when, now, end_of_day=True) for when in (as_of, known_at))
        rows = [asdict(health) for health in status(self._lake, now, as_of=then, known_at=known)]
        return self._given(pa.Table.from_pylist(rows), arrow)

    def sql(
        self, statement: str, *, as_of: When = None, known_at: When = None, arrow: bool = False
    ) -> pd.DataFrame | pa.Table:
        """Read-only SQL over the documented views (`gpufare sql --views`). Raises ValueError.

        `as_of` is the moment of offers_now; with `known_at` every view shows what was believed then.

        >>> question = "SELECT provider, count(*) AS n FROM offers_asof('2026-11-29') GROUP BY 1 ORDER BY 1"
        >>> Ledger(store).sql(question).values.tolist()[:2]
        [['aws', 11], ['hyperbolic', 6]]
        """
        from storage.views import sql

        now = self._lake.clock(datetime.now(UTC))
        with _plainly():
            then, known = (_moment(when, now, end_of_day=True) for when in (as_of, known_at))
        return self._given(sql(self._lake, statement, then or now, known), arrow)

    def _asked(
        self, gpus: Iterable[str], filters: dict[str, Any], *, since: When, until: When, as_of: When, known_at: When
    ) -> tuple[Filters, dict[str, Any]]:
        """Filters and moments of a question about a span. Raises ValueError."""
        clock = self._lake.clock(datetime.now(UTC))
        with _plainly():
            return self._filters(gpus, filters), {
                "now": min(_moment(as_of, clock, end_of_day=True) or clock, clock),
                "since": _moment(since, clock),
                "until": _moment(until, clock, end_of_day=True),
                "known_at": _moment(known_at, clock, end_of_day=True),
            }

    def _filters(
        self, gpus: Iterable[str], filters: dict[str, Any], usual_purchase: tuple[str, ...] = ("on_demand",)
    ) -> Filters:
        """The filters by the names of the options. Raises UsageFault."""
        known = build.__kwdefaults__ or {}
        for name in filters:
            if name not in known or name == "usual_purchase":
                raise args.unknown("filter", name, [word for word in known if word != "usual_purchase"])
        said = {name: value for name, value in filters.items() if value is not None}
        texts = {name: _texts(value, isinstance(known[name], tuple)) for name, value in said.items()}
        if "disk" in texts:
            texts["disk"] = args.number("disk", texts["disk"])
        return build(self._lake, gpus, usual_purchase=usual_purchase, **texts)

    def _given(self, table: pa.Table, arrow: bool) -> pd.DataFrame | pa.Table:
        if arrow:
            return table.replace_schema_metadata({"notice": SAMPLE}) if self.sample else table
        frame = frame_of(table)
        if self.sample:
            frame.attrs["notice"] = SAMPLE
        return frame


def frame_of(table: pa.Table) -> pd.DataFrame:
    """The table as pandas; decimals stay decimals instead of becoming objects or floats."""
    import pandas as pd
    import pyarrow as pa

    def kept(kind: pa.DataType) -> Any:
        return pd.ArrowDtype(kind) if pa.types.is_decimal(kind) else None

    frame: pd.DataFrame = table.to_pandas(types_mapper=kept)
    return frame


def _texts(value: Any, many: bool) -> Any:
    """A filter as the command line would have it: a list of texts, one text, or a flag."""
    if isinstance(value, bool) or value is None:
        return value
    if many:
        return [str(part) for part in value] if isinstance(value, list | tuple | set) else [str(value)]
    return str(value)


def _moment(when: When, now: datetime, *, end_of_day: bool = False) -> datetime | None:
    if when is None or isinstance(when, str):
        return None if when is None else args.moment(when, now, end_of_day=end_of_day)
    if isinstance(when, datetime):
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    return datetime.combine(when, time.max if end_of_day else time.min, UTC)


@contextmanager
def _plainly() -> Iterator[None]:
    """A wrong word is a ValueError to Python, not an exit code."""
    try:
        yield
    except UsageFault as fault:
        raise ValueError(fault.message) from None
