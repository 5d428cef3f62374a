"""What the shapes take for a price, and how a word where a number was is told."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import pytest

from spiders.shared.errors import LayoutChanged
from spiders.shared.problems import of_callback
from spiders.shared.shapes.html_table import dollars


@pytest.mark.parametrize("cell", ["$1.29", "$ 1,029.00", "$3", "$-1.29", "-$1.29", "$1.2.9", "$0"])
def test_a_price_is_handed_on_be_it_malformed(cell: str) -> None:
    assert dollars(cell) == cell


@pytest.mark.parametrize(
    "cell", ["", "—", "--", "$", "$-", "N/A", "Contact us", "from $1.55", "$1.29/h", "$1.29 - $2.00"]
)
def test_what_names_no_price_is_none(cell: str) -> None:
    assert dollars(cell) is None


@pytest.mark.parametrize("cell", ["1,29 €", "£1", "₹219"])
def test_another_currency_is_another_layout(cell: str) -> None:
    with pytest.raises(LayoutChanged, match="expected dollars"):
        dollars(cell)


def test_a_word_where_a_number_was_is_told_in_words() -> None:
    with pytest.raises(InvalidOperation) as raised:
        Decimal("soon")
    problem = of_callback(raised.value, "https://api.example.com/prices")
    assert problem.error_class == "SchemaDrift"
    assert problem.error.startswith("InvalidOperation: a text that is no number reading https://api.example.com/prices")
