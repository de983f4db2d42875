"""Filters that write numbers, times and sizes on every page."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchhub.analysis import words
from benchhub.analysis.planning.levels import levels_text
from benchhub.bench.models import Run
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
