"""Filters that write numbers, times and sizes on every page."""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from benchhub.analysis import words
from benchhub.analysis.planning.levels import levels_text
from benchhub.bench.models import Run
from benchhub.reports.comparison.answers.lanes import Dot
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
    rows = ((dot.series, dot.x, dot.y) for dot in dots)
    return format_html_join("\n", '<circle class="fill-{}" cx="{}%" cy="{}" r="3" />', rows)
