import re
from pathlib import Path

from django.conf import settings

from benchhub.reports.curves import looks
from benchhub.reports.sharing.output import card

STYLES = Path(settings.BASE_DIR, "frontend/static/css")


def colours(style, names):
    """Return the colours of series in the order of the style: those of the light page, then those of the dark one."""
    return re.findall(rf"--series-{names}: (#[0-9a-f]{{6}})", style)


def test_twelve_curves_have_a_marker_a_dash_and_a_colour_each():
    style = (STYLES / "benchhub.css").read_text()
    for number in range(looks.MOST):
        assert len(set(colours(style, number))) == 2, number
    for look in (looks.marker, looks.dash, card.COLOURS.__getitem__):
        assert len({look(series) for series in range(looks.MOST)}) == looks.MOST


def test_a_preview_has_the_colours_of_the_light_page():
    light = (STYLES / "benchhub.css").read_text().split("@media")[0]
    assert tuple(colours(light, r"\d+")) == card.COLOURS
    assert len(card.COLOURS) == looks.GREY + 1


def test_a_key_a_bar_and_a_swatch_have_each_of_these_colours():
    for file, name in (("benchhub.css", "key"), ("answer.css", "fill"), ("laboratory.css", "swatch")):
        style = (STYLES / file).read_text()
        assert [n for n in range(looks.MOST) if f".{name}-{n} {{" not in style] == [], file


def test_a_turned_marker_looks_like_its_own():
    assert [looks.turned_marker(series) for series in (0, 3, 7, 8)] == [
        "circle", "triangle-right", "triangle-left", "hourglass",
    ]  # fmt: skip


def test_only_more_curves_than_looks_are_said_to_share_them():
    assert looks.text(12) == ""
    assert looks.text(13).startswith("13 curves, and looks for 12:")
