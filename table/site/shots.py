"""Pictures of each kind of page in each language, wide, narrow and dark: `python -m table.site.shots SITE OUT`.

SITE is a folder that `gpufare publish` made; it is opened from the disk, as a reader without a server would.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from schemas.messages import languages
from spiders.shared.browser import ARGS, MISSING, chromium
from table.site.build import POINTER
from table.site.pages import SECTIONS

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
LOOKS = (("wide", WIDE, "light"), ("dark", WIDE, "dark"), ("phone", PHONE, "light"))


def main() -> None:
    """Write the pictures as <language>-<page>-<look>.png."""
    from playwright.sync_api import sync_playwright

    site, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    browser_path = chromium()
    if browser_path is None:
        raise SystemExit(MISSING)
    out.mkdir(parents=True, exist_ok=True)
    version = site / json.loads((site / POINTER).read_text(encoding="utf-8"))["path"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(browser_path), args=[*ARGS, "--no-sandbox"])
        for language in languages():
            pages = [*SECTIONS, *(_first(version / language, kind) for kind in ("gpu", "provider"))]
            for name in pages:
                for look, size, scheme in LOOKS:
                    context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
                    page = context.new_page()
                    page.goto((version / language / f"{name}.html").as_uri())
                    page.screenshot(
                        path=out / f"{language}-{name.replace('/', '-')}-{look}.png", full_page=look != "dark"
                    )
                    context.close()
        browser.close()


def _first(folder: Path, kind: str) -> str:
    """A page of the kind that has much to show: the largest one."""
    largest = max((folder / kind).glob("*.html"), key=lambda path: path.stat().st_size)
    return f"{kind}/{largest.stem}"


if __name__ == "__main__":
    main()
