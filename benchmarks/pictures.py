"""Take docs/pictures from the demonstration: the main pages, wide and narrow, in light and dark.

It lies here because it finds and opens the pages as `pages.py` does. Uses the demonstration that runs, or starts one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page

from benchmarks.demonstration import CLONE, Demonstration, chromium, demonstration, pages, sign_in

FOLDER = CLONE / "docs" / "pictures"
# By their names in `pages`; what the demonstration has no page for is left out.
# How much of each is shown when it is wide, in px: to the end of what it is about.
MAIN_PAGES = {"home": 600, "experiment": 860, "run": 720, "comparison": 860, "experiment-new": 720}
# These are about their first chart: however wide they are, they are shown to below its end.
CHARTED = ("experiment", "comparison")
BELOW_CHART = 8
WIDE, NARROW = 1440, 360
NARROW_HEIGHT = 640
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
LIMIT_BYTES = 2_000_000
COLOURS = 256
CHART = ".chart[data-figure]:not([hidden])"
DRAWN = f"Array.from(document.querySelectorAll('{CHART}')).every(c => c.matches('.drawn'))"


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    with demonstration() as demo, chromium() as browser:
        files = [file for scheme in SCHEMES for width in (WIDE, NARROW) for file in _take(browser, demo, scheme, width)]
    for stale in set(FOLDER.glob("*.png")) - set(files):
        stale.unlink()
    size = sum(file.stat().st_size for file in files)
    print(f"{len(files)} pictures in {FOLDER.relative_to(CLONE)}, {size / 1000:.0f} kB of {LIMIT_BYTES / 1000:.0f} kB")
    return 0 if size < LIMIT_BYTES else 1


def _take(browser: Browser, demo: Demonstration, scheme: Scheme, width: int) -> list[Path]:
    context = browser.new_context(
        viewport={"width": width, "height": NARROW_HEIGHT},
        color_scheme=scheme,
        locale="en-GB",
        timezone_id="UTC",
        reduced_motion="reduce",
    )
    tab = sign_in(context, demo)
    addresses = pages(tab, demo)
    taken = [_picture(tab, demo.url + addresses[name], name, scheme, width) for name in MAIN_PAGES if name in addresses]
    context.close()
    return taken


def _picture(tab: Page, url: str, name: str, scheme: Scheme, width: int) -> Path:
    file = FOLDER / (f"{name}-{scheme}.png" if width == WIDE else f"{name}-{scheme}-{width}.png")
    height = MAIN_PAGES[name] if width == WIDE else NARROW_HEIGHT
    tab.set_viewport_size({"width": width, "height": height})
    tab.goto(url)
    tab.wait_for_function(DRAWN)
    if name in CHARTED:
        tab.set_viewport_size({"width": width, "height": max(height, _end_of_chart(tab))})
        tab.wait_for_function(DRAWN)
    tab.screenshot(path=file)
    _shrink(file)
    return file


def _shrink(file: Path) -> None:
    """Write the picture with a palette: pages have few colours, and a third of the bytes tells them apart."""
    with Image.open(file) as picture:
        palette = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    palette.save(file, optimize=True)


def _end_of_chart(tab: Page) -> int:
    """Return how far down the first chart goes, with a margin, in px; 0 where there is none."""
    charts = tab.locator(CHART)
    box = charts.first.bounding_box() if charts.count() else None
    return round(box["y"] + box["height"]) + BELOW_CHART if box else 0


if __name__ == "__main__":
    sys.exit(main())
