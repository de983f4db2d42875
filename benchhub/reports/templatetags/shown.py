"""How numbers, times and sizes are written on every page: rounded to what is known, the exact value on hover."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchhub.analysis.planning.levels import spell
from benchhub.analysis.statistics.spread import round_significant
from benchhub.bench.models import Run
from runners import tools

register = template.Library()
MISSING = format_html('<span class="missing" title="not known">{}</span>', "–")
SPELLED_OUT = 12
LONG = 48  # characters: more than a column of facts has room for on two lines
SMALLEST_P = 0.0001
BYTE_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


@register.filter
def figure(value: float | None, digits: int = 3) -> SafeString:
    """A number to so many significant digits, with thousands separators; a dash for what is not known."""
    if value is None:
        return MISSING
    return format_html('<data value="{}" title="{}">{}</data>', value, _exact(value), significant(value, digits))


@register.filter
def live_rate(run: Run) -> SafeString:
    """The throughput of a run under way."""
    return format_html("{} {}", figure(run.watch.live_tps), tools.get(run.experiment.workload.tool).live_unit)


@register.filter
def is_long(fact: Any) -> bool:
    """Whether it takes the whole width: names must not break within a word, nor leave holes beside them."""
    return isinstance(fact, str) and len(fact) > LONG


@register.filter
def percent(value: float | None) -> SafeString:
    return MISSING if value is None else format_html("{}%", f"{value:.1f}")


@register.filter
def chance(p: float | None) -> SafeString:
    """A p-value; what is smaller than can matter is said to be small."""
    if p is None:
        return MISSING
    shown = "< 0.0001" if p < SMALLEST_P else f"{p:.4f}" if p < 0.01 else f"{p:.2f}"
    return format_html('<data value="{}" title="{}">{}</data>', p, f"{p:.3g}", shown)


@register.filter
def size(count: int | None) -> SafeString:
    """Bytes as people read them, in powers of 1,024."""
    if count is None:
        return MISSING
    amount, unit = float(count), 0
    while abs(amount) >= 1024 and unit < len(BYTE_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    shown = f"{amount:.0f}" if unit == 0 else significant(amount, 3)
    return format_html('<data value="{}" title="{} bytes">{} {}</data>', count, f"{count:,}", shown, BYTE_UNITS[unit])


@register.filter
def duration(seconds: float | None) -> str:
    """1 h 5 min, 2 min 5 s, 5 min or 12 s."""
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{rest} s"


@register.filter
def levels(clients: Sequence[int]) -> str:
    """1, 2 and 4; of many their ranges: 2..160:2."""
    if len(clients) > SPELLED_OUT:
        return spell(clients)
    *first, last = (f"{level:,}" for level in clients)
    return f"{', '.join(first)} and {last}" if first else last


@register.filter
def moment(at: datetime | None) -> SafeString:
    """A time in UTC, which a script on the page turns into the reader's zone."""
    if at is None:
        return MISSING
    utc = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC">{} UTC</time>',
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"),
        utc.strftime("%Y-%m-%d %H:%M:%S"),
        utc.strftime("%Y-%m-%d %H:%M:%S"),
    )


@register.filter
def ago(at: datetime | None) -> SafeString:
    """How long ago a time is, by this machine's clock, with the time itself on hover: 12 s ago."""
    if at is None:
        return MISSING
    utc = at.astimezone(UTC)
    age_s = max(0.0, (datetime.now(UTC) - utc).total_seconds())
    stamp = utc.strftime("%Y-%m-%d %H:%M:%S")
    return format_html('<span class="label" title="{} UTC">{} ago</span>', stamp, duration(age_s))


@register.filter
def measured(value: Any, unit: str = "") -> SafeString:
    """A value of any kind as found: counts whole, other numbers rounded, bytes in words, times in UTC."""
    if isinstance(value, bool):
        return format_html("{}", "yes" if value else "no")
    if isinstance(value, datetime):
        return moment(value)
    if not isinstance(value, int | float):
        return MISSING if value is None else format_html("{}", value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if unit == "bytes":
        return size(int(value))
    shown = format_html("{}", f"{value:,}") if isinstance(value, int) else figure(value, 3)
    return format_html("{}{}{}", shown, "" if unit == "%" else " ", unit) if unit else shown


def significant(value: float, digits: int) -> str:
    """21,300 or 0.0123; whole numbers below 10,000 stay as they are, and those that were counted have no decimals."""
    if float(value).is_integer() and abs(value) < 10_000:
        return f"{value:,.0f}"
    rounded = round_significant(float(value), digits)
    if isinstance(value, int):
        return f"{rounded:,.0f}"
    magnitude = f"{rounded:e}".split("e")[1]
    return f"{rounded:,.{max(0, digits - 1 - int(magnitude))}f}"


def _exact(value: float) -> str:
    return f"{value:,}"
