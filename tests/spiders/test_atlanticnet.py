"""Atlantic.Net: plans out of JSON-LD, with terms in the names of prices."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_terms_are_offers_of_their_own(replay: Any) -> None:
    offers = {(o.gpu, o.purchase, o.term_months): o.price for o in replay("atlanticnet", NIGHT).offers}
    assert offers == {
        ("L40S", "on_demand", None): Decimal("1.668"),
        ("L40S", "reserved", 36): Decimal("1.57549"),
        ("H100", "on_demand", None): Decimal("3.941"),
    }


def test_the_card_stands_in_the_plan_s_name(replay: Any) -> None:
    h100 = next(o for o in replay("atlanticnet", NIGHT).offers if o.gpu == "H100")
    assert (h100.form_factor, h100.vram_gib, h100.gpu_count, h100.vcpus, h100.ram_gib) == ("NVL", 94, 1, 28, 240)


def test_a_plan_that_nobody_knows_has_no_card(replay: Any) -> None:
    read = replay("atlanticnet", NIGHT, lambda url, body: body.replace("AH100NVL.240GB", "AX900.240GB"))
    assert [(o.gpu, o.gpu_count, o.usd_per_gpu_hour) for o in read.offers if o.instance_type == "AX900.240GB"] == [
        (None, None, None)
    ]


def test_another_system_is_told(replay: Any) -> None:
    read = replay(
        "atlanticnet", NIGHT, lambda url, body: body.replace("Linux \\u2013 3-Year", "Windows \\u2013 3-Year")
    )
    assert {o.os for o in read.offers} == {"linux", "windows"}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("atlanticnet", NIGHT, lambda url, body: body.replace('"price": 3.941', '"price": -1'))
    assert (len(read.offers), [reject.raw.instance_type for reject in read.rejects]) == (2, ["AH100NVL.240GB"])


def test_a_term_of_another_kind_fails_loudly(failing: Any) -> None:
    report = failing("atlanticnet", NIGHT, lambda url, body: body.replace("3-Year Term", "Best Price"))
    assert (report.error_class, "Best Price" in report.error) == ("LayoutChanged", True)


def test_breadcrumbs_are_no_plans(replay: Any) -> None:
    crumb = '{"@type":"ListItem","position":1,"name":"Home","item":"https://www.atlantic.net/"}'
    script = f'<script type="application/ld+json">{{"@type":"BreadcrumbList","itemListElement":[{crumb}]}}</script>'
    assert len(replay("atlanticnet", NIGHT, lambda url, body: body.replace("</head>", script + "</head>")).offers) == 3
