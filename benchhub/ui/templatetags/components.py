"""Components that all pages draw alike: a table, a pill, an empty state, a count. HTML is in templates/components/."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from django import template
from django.db.models import Model
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from benchhub.analysis import words

register = template.Library()
register.filter("count", words.count)
SUM = re.compile(r"([\d,.]+ [A-Z]{3})( over \d+ years?)$")
LONG = 4  # times what a phone shows first
WIDE_ROWS = 12  # that a wide page shows of a list it folds, as the style has it
SCREEN_PX = 900
MOST_COLUMNS = 4  # a row of more is as long on a phone as two


@register.simple_block_tag
def table(content: str, label: str, css: str = "", anchor: str = "") -> SafeString:
    """Draw a table that scrolls within its page; `label` is read out, `content` holds its head and body."""
    return render_to_string("components/table.html", {"content": content, "label": label, "css": css, "id": anchor})


@register.simple_block_tag
def pill(content: str, state: str) -> SafeString:
    """Draw a state as a pill; the style of `state` gives it a sign, so that colour alone says nothing."""
    return _pill(_stripped(content), str(state))


# A list has a pill on each row, of a few states; to render its template takes as long as the other cells together.
# By type as well: equal text that is not safe is another.
@lru_cache(maxsize=256, typed=True)
def _pill(content: SafeString, state: str) -> SafeString:
    return render_to_string("components/pill.html", {"content": content, "state": state})


@register.simple_block_tag
def fold(content: str, title: str, anchor: str, *, is_open: bool = False) -> SafeString:
    """Draw a section that is folded away below its title until somebody asks for it."""
    return render_to_string(
        "components/fold.html", {"content": content, "title": title, "id": anchor, "is_open": is_open}
    )


@register.simple_block_tag
def first_rows(
    content: str, rows: int, things: str, anchor: str, *, first: int = 4, columns: int = 0, row_px: int = 36
) -> SafeString:
    """Draw rows of which a phone shows the `first` 2, 3 or 4, until asked for all of these `things`.

    Of a long list it shows half of that, and so it does of one with many columns. A wide page, whose rows are `row_px`
    high, folds only a list of which that spares a screen.
    """
    most = first // 2 if rows > LONG * first or columns > MOST_COLUMNS else first
    if rows <= most:
        return mark_safe(content)  # nosec B308
    is_long = (rows - WIDE_ROWS) * row_px >= SCREEN_PX
    title = f"Show all {rows:,} {things}"
    context = {"content": content, "title": title, "id": anchor, "first": most, "is_long": is_long}
    return render_to_string("components/first_rows.html", context)


@register.inclusion_tag("components/folded_doubts.html")
def folded_doubts(doubts: Sequence[object], *places: object) -> dict[str, object]:
    """Draw the doubts of a row behind their number; the `places` name the row, so that it stays open when refreshed."""
    return {"doubts": doubts, "anchor": "-".join(map(str, places))}


@register.filter
def sum_marked(verdict: str) -> SafeString:
    """Mark the sum with which a verdict ends, '15,000 EUR over 3 years', so that it is seen first."""
    if match := SUM.search(verdict):
        return format_html('{}<b class="sum">{}</b>{}', verdict[: match.start()], *match.groups())
    return format_html("{}", verdict)


@register.simple_block_tag
def menu(content: str, row: Model) -> SafeString:
    """Draw the acts of a row as a menu behind one button, which is named after the row; without acts draw nothing."""
    if not content.strip():
        return mark_safe("")  # nosec B308
    return render_to_string("components/menu.html", {"content": content, "label": str(row), "id": f"menu-{row.pk}"})


@register.simple_block_tag(name="nothing")
def empty_state(content: str) -> SafeString:
    """Draw what stands in the place of a list that has nothing in it."""
    return render_to_string("components/empty.html", {"content": _stripped(content)})


def _stripped(content: str) -> SafeString:
    """Return the content of a block without the blanks of its lines; Django has escaped it already."""
    return mark_safe(content.strip())  # nosec B308
