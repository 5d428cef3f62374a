"""What `scrapy genspider` writes is a spider that lints, type-checks, and reads an answer of its shape."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spiders.shared import har
from spiders.shared.offline import read_answers

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = ROOT / "spiders" / "shared" / "templates" / "spiders"
URL = "https://api.example.com/v1/prices"
RECORD = {"gpu": "H100", "price": 2.5}
TABLE = b"""<table><thead><tr><th>GPU</th><th>Price</th></tr></thead><tbody>
<tr><td>H100</td><td>$2.5</td></tr><tr><td>B200</td><td>Contact us</td></tr></tbody></table>"""
GENERATE = """
import sys
from scrapy.cmdline import execute

for shape in sys.argv[2:]:
    try:
        execute(["scrapy", "genspider", "-t", shape, f"probe_{shape}", sys.argv[1]])
    except SystemExit as done:
        assert not done.code
"""
ANSWERS = {
    "json_list": json.dumps([RECORD]).encode(),
    "paged_json": json.dumps({"items": [RECORD], "next": None, "total": 1}).encode(),
    "html_table": TABLE,
    "embedded_json": b'<html><script>let price = {"plans": %s}; // gpu</script></html>' % json.dumps([RECORD]).encode(),
    "text_rows": TABLE,
    "browser": TABLE,
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the packages, with one generated spider for each template."""
    folder = tmp_path_factory.mktemp("project")
    for package in ("spiders/shared", "schemas"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("spiders/__init__.py", "scrapy.cfg", "pyproject.toml"):
        shutil.copy(ROOT / file, folder / file)
    tool(folder, "-c", GENERATE, URL, *ANSWERS)
    return folder


def tool(folder: Path, *command: str) -> str:
    env = {key: value for key, value in os.environ.items() if not key.startswith("SCRAPY")}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_template_has_its_test():
    assert {path.stem for path in TEMPLATES.glob("*.tmpl")} == set(ANSWERS)


def test_what_is_generated_lints_and_type_checks(project):
    files = [f"spiders/probe_{shape}.py" for shape in ANSWERS]
    tool(project, "-m", "ruff", "check", *files)
    tool(project, "-m", "ruff", "format", "--check", *files)
    tool(project, "-m", "mypy", "--strict", *files)


@pytest.mark.parametrize("shape", sorted(ANSWERS))
def test_what_is_generated_reads_an_answer_of_its_shape(project, shape, monkeypatch):
    monkeypatch.syspath_prepend(str(project / "spiders"))
    read = read_answers(f"probe_{shape}", [har.bare(URL, ANSWERS[shape])], module=f"probe_{shape}")
    assert (read.errors, len(read.offers)) == ([], 1)
    assert read.offers[0].accelerator == "H100"
    assert str(read.offers[0].price).lstrip("$") == "2.5"
