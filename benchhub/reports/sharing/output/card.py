"""The picture of a preview card: title, verdict, confidence and a chart, drawn from what a link shows and no more."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.nodes import Node
from benchhub.reports.curves import looks
from benchhub.reports.models import Projection

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

WIDTH, HEIGHT = 1200, 630  # what readers of Open Graph crop least
FINER = 2  # drawn so many times as large, and made smaller: Pillow's lines have steps
MARGIN = 60
CARDS_KEPT = 64
COLOURS_KEPT = 128
PAGE, INK, MUTED, RULE, ACCENT = "#ffffff", "#16212b", "#56636f", "#d9e0e6", "#14506b"
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#b0568f", "#c98500", "#3f97cf", "#4a4a4a", "#2d0069", "#6b2400", "#9600ff",
    "#780096", "#960f00", "#6a747e",
)  # fmt: skip
# Corners and turn of a curve's mark, so that nothing hangs on colour alone; no corners is a circle.
MARKS = ((0, 0), (4, 0), (4, 45), (3, 0), (5, 0), (6, 0), (3, 180))
MOST_CURVES = 7
MOST_BARS, BAR_HEIGHT, BAR_SPACING = 6, 18, 38  # px
NAMES_RIGHT, BARS_LEFT, BARS_RIGHT, FIGURES_LEFT = 400, 415, 700, 890
FULL_PERCENT = 100.0
TICKS = 4
CUT = "..."
LEFT, TOP, RIGHT, BOTTOM = 170, 340, 800, 550
PLAIN = str.maketrans({"–": "-", "−": "-", "“": '"', "”": '"', "’": "'", "‘": "'", "…": "..."})
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    name: str
    series: int
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of `width_percent` of the longest, with its name and its value as the page writes them.

    `under` ends its name, and tells bars of one name apart.
    """

    name: str
    under: str
    value: str
    width_percent: float
    series: int


@dataclass(frozen=True, slots=True)
class Card:
    """All that is drawn. `verdict`, `confidence`, `bars` (their title is `axis`) and `figures` (title and value) are
    those of the answer on the page, empty where it opens with none. Then `curves` are those of the first figure that
    has any; there may be none.
    """

    title: str
    summary: str
    verdict: str = ""
    confidence: str = ""
    axis: str = ""
    across: str = ""
    curves: tuple[Curve, ...] = ()
    bars: tuple[Bar, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=CARDS_KEPT)
def png(sha256: str) -> bytes:
    """Return the picture for the projection of this digest, which never changes."""
    content = Projection.objects.filter(sha256=sha256).values_list("content", flat=True)[0]
    return drawn(card(canonical.from_bytes(bytes(content))))


def card(document: Node) -> Card:
    """Return what the document's answer says and draws; without one its title, summary and first curves."""
    blocks = [block for section in document["sections"] for block in section["blocks"]]
    answer = next((block for block in blocks if block["kind"] == "answer"), None)
    if answer is not None:
        return _answered(document["title"], answer)
    plain = Card(document["title"], document["summary"])
    for figure in (block for block in blocks if block["kind"] == "figure"):
        if curves := tuple(_curves(figure["plotly"])):
            across = figure["plotly"]["layout"].get("xaxis", {}).get("title", {}).get("text", "")
            return replace(plain, axis=figure["title"], across=across, curves=curves[:MOST_CURVES])
    return plain


def _answered(title: str, answer: Node) -> Card:
    picture, confidence = answer["picture"], answer["confidence"]
    return Card(
        title,
        " ".join(answer["sentences"]),
        answer["verdict"],
        f"{confidence['words']} {confidence['reason']}",
        picture["title"],
        bars=tuple(map(_bar, picture["bars"][:MOST_BARS])),
        figures=tuple((tile["title"], f"{tile['value']} {tile['unit']}".strip()) for tile in answer["tiles"]),
    )


def _bar(bar: Node) -> Bar:
    return Bar(bar["label"], f", {bar['under']}", bar["value"], float(bar["width_percent"]), bar["series"])


def _curves(plotly: Node) -> Iterator[Curve]:
    for trace in plotly["data"]:
        if trace.get("type") != "scatter" or "lines" not in trace.get("mode", ""):
            continue
        points = tuple((_number(x), _number(y)) for x, y in zip(trace["x"], trace["y"], strict=True))
        if len(points) > 1 and all(x > 0 and y >= 0 for x, y in points):
            yield Curve(trace.get("name", ""), trace.get("meta", {}).get("series", 0), points)


def _number(value: Any) -> float:
    """Return a value as a number, below 0 for a value that is none, such as a category."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return -1.0
    return number if math.isfinite(number) else -1.0


def drawn(picture: Card) -> bytes:
    """Draw a PNG of WIDTH x HEIGHT. Pillow costs some 10 MB, so that it is imported by processes that need it."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (WIDTH * FINER, HEIGHT * FINER), PAGE)
    pen = _Pen(ImageDraw.Draw(image))
    pen.box(0, 0, WIDTH, 14, ACCENT)
    _texts(pen, picture)
    if picture.curves:
        _chart(pen, picture)
    _bars(pen, picture)
    _figures(pen, picture)
    pen.text(MARGIN, HEIGHT - 42, "BenchHub", 22, ACCENT)
    pen.text(MARGIN + 130, HEIGHT - 42, picture.confidence, 22, INK, width=WIDTH - 2 * MARGIN - 130)
    png = io.BytesIO()
    image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS).quantize(COLOURS_KEPT).save(png, "PNG", optimize=True)
    return png.getvalue()


def _texts(pen: _Pen, card: Card) -> None:
    """Write the answer largest: the title is only the question."""
    if card.verdict:
        bottom = pen.lines(MARGIN, 34, card.title, 28, MUTED, most=1)
        bottom = pen.lines(MARGIN, bottom + 4, card.verdict, 44, INK, most=2)
    else:
        bottom = pen.lines(MARGIN, 48, card.title, 46, INK, most=2)
    lines = int((TOP - 50 - bottom) // 33) if card.curves or card.bars else 9
    pen.lines(MARGIN, bottom + 10, card.summary, 25, MUTED, most=max(1, lines))


def _chart(pen: _Pen, card: Card) -> None:
    """Draw clients by logarithm to the right, as on the page; upwards from 0."""
    points = [point for curve in card.curves for point in curve.points]
    step = tick(max(y for _, y in points))
    most = step * max(1, math.ceil(max(y for _, y in points) / step))
    first, last = (math.log2(extreme(x for x, _ in points)) for extreme in (min, max))

    def place(point: Point) -> Point:
        across = (math.log2(point[0]) - first) / (last - first) if last > first else 0.5
        return LEFT + 12 + across * (RIGHT - LEFT - 24), BOTTOM - point[1] / most * (BOTTOM - TOP)

    for count in range(round(most / step) + 1):
        y = BOTTOM - count * step / most * (BOTTOM - TOP)
        pen.line([(LEFT, y), (RIGHT, y)], RULE if count else MUTED, 2)
        pen.text(LEFT - 14, y, f"{count * step:,.10g}", 20, MUTED, anchor="rm")
    for x in _spread_out(sorted({x for x, _ in points}), lambda x: place((x, 0))[0]):
        pen.text(place((x, 0))[0], BOTTOM + 8, f"{x:,.10g}", 20, MUTED, anchor="ma")
    pen.text(LEFT, TOP - 34, card.axis, 20, MUTED)
    pen.text(RIGHT + 14, BOTTOM, card.across, 20, MUTED, anchor="lm")
    for number, curve in enumerate(card.curves):
        pen.curve([place(point) for point in curve.points], curve.series)
        pen.mark(RIGHT + 40, TOP + 14 + 32 * number, curve.series)
        pen.text(RIGHT + 58, TOP + 14 + 32 * number, curve.name, 22, INK, anchor="lm", width=WIDTH - RIGHT - 58 - 30)


def _bars(pen: _Pen, card: Card) -> None:
    """Draw the bars of the answer below each other, each between its name and its value."""
    if card.bars:
        pen.text(MARGIN, TOP - 34, card.axis, 20, MUTED)
    for number, bar in enumerate(card.bars):
        middle = TOP + 12 + BAR_SPACING * number
        right = BARS_LEFT + bar.width_percent / FULL_PERCENT * (BARS_RIGHT - BARS_LEFT)
        colour = _colour(bar.series)
        pen.text(MARGIN, middle, bar.name, 22, INK, anchor="lm", width=NAMES_RIGHT - MARGIN, ending=bar.under)
        pen.box(BARS_LEFT, middle - BAR_HEIGHT / 2, right, middle + BAR_HEIGHT / 2, colour)
        pen.text(right + 12, middle, bar.value, 22, INK, anchor="lm")


def _figures(pen: _Pen, card: Card) -> None:
    for number, (title, value) in enumerate(card.figures):
        top = TOP - 34 + 78 * number
        pen.text(FIGURES_LEFT, top, title, 20, MUTED, width=WIDTH - MARGIN - FIGURES_LEFT)
        pen.text(FIGURES_LEFT, top + 24, value, 34, INK, width=WIDTH - MARGIN - FIGURES_LEFT)


def tick(highest: float) -> float:
    """Return 1, 2 or 5 times a power of ten, so that about TICKS steps reach the highest value."""
    rough = (highest or 1.0) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough)


def _spread_out(values: Sequence[float], place: Any, apart: float = 62) -> list[float]:
    """Return the values whose labels do not touch: the first, and each that is far enough from the one before."""
    places: list[float] = []
    for value in values:
        if not places or place(value) - place(places[-1]) >= apart:
            places.append(value)
    return places


class _Pen:
    """A pen in the measures of the finished picture."""

    def __init__(self, canvas: ImageDraw) -> None:
        self.canvas = canvas

    def box(self, left: float, top: float, right: float, bottom: float, colour: str) -> None:
        self.canvas.rectangle([FINER * pixel for pixel in (left, top, right, bottom)], fill=colour)

    def line(self, points: Sequence[Point], colour: str, width: int) -> None:
        self.canvas.line([(FINER * x, FINER * y) for x, y in points], fill=colour, width=FINER * width, joint="curve")

    def curve(self, points: Sequence[Point], series: int) -> None:
        self.line(points, _colour(series), 4)
        for x, y in points:
            self.mark(x, y, series)

    def mark(self, x: float, y: float, series: int) -> None:
        corners, turn = MARKS[series % len(MARKS)]
        colour, (across, down, radius) = _colour(series), (FINER * x, FINER * y, FINER * 9.0)
        if corners:
            self.canvas.regular_polygon((across, down, radius), corners, rotation=turn, fill=colour)
        else:
            self.canvas.ellipse([across - radius, down - radius, across + radius, down + radius], fill=colour)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        colour: str,
        *,
        anchor: str = "la",
        width: float = math.inf,
        ending: str = "",
    ) -> None:
        """Write a text, cut where it is wider than `width`; its ending stays whole where there is room for it."""
        cut = _cut(_drawable(text), _drawable(ending), size, width)
        self.canvas.text((FINER * x, FINER * y), cut, fill=colour, font=_font(size), anchor=anchor)

    def lines(self, x: float, y: float, text: str, size: int, colour: str, *, most: int) -> float:
        """Write a text wrapped at words and cut after `most` lines. Return where the next line would begin."""
        for line in _wrapped(_drawable(text), size, most):
            self.text(x, y, line, size, colour, width=WIDTH - 2 * MARGIN)
            y += size * 1.3
        return y


def _colour(series: int) -> str:
    return COLOURS[min(series, looks.GREY)]


def _cut(text: str, ending: str, size: int, width: float) -> str:
    """Return the text cut so that it and its ending fit; an ending too wide by itself is cut with the text."""
    font, room = _font(size), FINER * width
    if font.getlength(CUT + ending) > room:
        text, ending = text + ending, ""
    while len(text) > len(CUT) and font.getlength(text + ending) > room:
        text = text.removesuffix(CUT)[:-1].rstrip() + CUT
    return text + ending


def _wrapped(text: str, size: int, most: int) -> list[str]:
    font, lines = _font(size), [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) <= FINER * (WIDTH - 2 * MARGIN) or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1]}..."]


def _drawable(text: str) -> str:
    """Return the text in Latin letters, as Pillow's own font has no others; the card's text keeps them all."""
    return "".join(
        character for character in text.translate(PLAIN) if character.isascii() or 0xA1 <= ord(character) <= 0x17E
    )


@lru_cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(FINER * size)
