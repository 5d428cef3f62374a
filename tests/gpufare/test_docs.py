"""Documentation that cannot rot."""

from pathlib import Path

import pytest

from gpufare import docs


def test_the_readmes_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert docs.main(["--check"]) == 0, capsys.readouterr().err


def test_a_difference_is_found_and_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "room").mkdir()
    readme = tmp_path / "room" / "README.md"
    readme.write_text("a\n<!-- generated: gate-checks -->\nold\n<!-- end -->\nb\n")
    assert docs.main(["--check"], tmp_path) == 1
    assert "room/README.md is out of date; run: python -m gpufare.docs" in capsys.readouterr().err
    assert "old" in readme.read_text()
    assert docs.main([], tmp_path) == 0
    assert docs.main(["--check"], tmp_path) == 0
    text = readme.read_text()
    assert text.startswith("a\n<!-- generated: gate-checks -->\n| check | ")
    assert text.endswith("<!-- end -->\nb\n")
    assert "`uniform_shift`" in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<!-- generated: nonsense -->\n<!-- end -->\n", "'nonsense'"),
        ("<!-- generated: commands -->\nnever ends\n", "does not end"),
    ],
)
def test_a_wrong_block_is_an_error(text: str, said: str) -> None:
    with pytest.raises(docs.DocsError, match=said):
        docs.filled(text)


def test_every_block_tells_all_it_is_about() -> None:
    from gpufare.cli import COMMANDS
    from schemas.offer import Offer
    from schemas.providers import providers
    from schemas.record import columns
    from storage.gate import CHECKS

    assert all(f"`{name}`" in docs.commands() for name in COMMANDS)
    collected, absent, gives = docs.providers(), docs.absent(), docs.spiders()
    for name, known in providers().items():
        assert (f"`{name}`" in collected) == (known.status == "active") != (f"`{name}`" in absent)
        assert known.status != "active" or f"| `{name}` |" in gives
    assert all(f"| `{name}` |" in docs.BLOCKS["offer-columns"]() for name in columns(Offer))
    assert all(f"| `{check.name}` |" in docs.gate_checks() for check in CHECKS)


def test_headings_of_a_spider_are_read_without_importing_it() -> None:
    import sys

    before = set(sys.modules)
    said = docs.spider_headings("hyperbolic")
    assert said["Gives"].startswith("price, GPU")
    assert said["Quirk"].endswith("nobody's price")
    assert "spiders.hyperbolic" not in set(sys.modules) - before
    assert docs.spider_headings("nosuchspider") == {}
