"""Filters that write numbers, times and sizes on every page."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django import template
from django.urls import reverse
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from benchhub.analysis import words
from benchhub.analysis.planning.levels import levels_text
from benchhub.bench.models import Run
from benchhub.reports.comparison.answers.lanes import Dot, Repeat
from benchhub.ui import numbers
from runners import tools

register = template.Library()
for write in (
    numbers.figure,
    numbers.is_long,
    numbers.percent,
    numbers.chance,
    numbers.size,
    numbers.moment,
    numbers.ago,
    numbers.measured,
    words.duration,
):
    register.filter(write.__name__, write)
register.filter("levels", levels_text)


@register.filter
def live_rate(run: Run) -> SafeString:
    """Write the throughput of a run under way, with its unit."""
    return format_html("{} {}", numbers.figure(run.watch.live_tps), tools.get(run.experiment.workload.tool).live_unit)


@register.filter
def circles(dots: Iterable[Dot]) -> SafeString:
    """Draw the repeats of a lane. There may be hundreds, and a template takes ten times as long for each."""
    rows = (f'<circle class="fill-{dot.series}" cx="{dot.x}%" cy="{dot.y}" r="3" />' for dot in dots)
    return mark_safe("\n".join(rows))  # numbers alone  # nosec B308


@register.filter
def repeat_lines(repeats: Iterable[Repeat], may_set_aside: bool) -> SafeString:
    """List the runs behind a lane with what can be done about each, written here for the reason of the circles."""
    run, aside = (reverse(name, args=[0]) for name in ("run", "run-set-aside"))
    act = f' <a href="{aside}">set aside<span class="sr"> run 0</span></a>' if may_set_aside else ""
    links = f'<a href="{run}">run 0</a>{act}'
    return mark_safe("\n".join(_line(repeat, links) for repeat in repeats))  # escaped there  # nosec B308


def _line(repeat: Repeat, links: str) -> str:
    curve = f'<span class="key key-{repeat.series}"></span><span class="sr">{escape(repeat.label)}, </span>'
    own_links = re.sub(r"\b0\b", str(repeat.run), links)
    return f"<li>{curve}{escape(repeat.value)} {own_links}</li>"
