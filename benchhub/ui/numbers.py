"""Write numbers, times and sizes for every page: rounded to what is known, the exact value on hover."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchhub.analysis import words

MISSING = format_html('<span class="missing" title="not known">{}</span>', "–")
LONG = 48  # characters: more than a column of facts has room for on two lines


def figure(value: float | None, digits: int = 3) -> SafeString:
    """Write a number to so many significant digits, with thousands separators; a dash for what is not known."""
    if value is None:
        return MISSING
    return format_html('<data value="{}" title="{}">{}</data>', value, f"{value:,}", words.significant(value, digits))


def is_long(fact: Any) -> bool:
    """Tell whether it takes the whole width: names must not break within a word, nor leave holes beside them."""
    return isinstance(fact, str) and len(fact) > LONG


def percent(value: float | None) -> SafeString:
    return MISSING if value is None else format_html("{}%", f"{value:.1f}")


def chance(p: float | None) -> SafeString:
    """Write a p-value; one that is smaller than can matter is said to be small."""
    if p is None:
        return MISSING
    return format_html('<data value="{}" title="{}">{}</data>', p, f"{p:.3g}", words.p_value(p))


def size(count: int | None) -> SafeString:
    """Write bytes as people read them, in powers of 1,024."""
    if count is None:
        return MISSING
    return format_html('<data value="{}" title="{} bytes">{}</data>', count, f"{count:,}", words.size(count))


def moment(at: datetime | None) -> SafeString:
    """Write a time in UTC, which a script on the page turns into the reader's zone."""
    if at is None:
        return MISSING
    utc = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC">{} UTC</time>',
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"),
        utc.strftime("%Y-%m-%d %H:%M:%S"),
        utc.strftime("%Y-%m-%d %H:%M:%S"),
    )


def ago(at: datetime | None) -> SafeString:
    """Write how long ago a time is, by this machine's clock, with the time itself on hover: 12 s ago.

    times.js counts it on while the page stays open.
    """
    if at is None:
        return MISSING
    utc = at.astimezone(UTC)
    age_s = max(0.0, (datetime.now(UTC) - utc).total_seconds())
    return format_html(
        '<time class="label" datetime="{}" data-age-s="{}" title="{} UTC">{} ago</time>',
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"),
        round(age_s),
        utc.strftime("%Y-%m-%d %H:%M:%S"),
        words.duration(age_s),
    )


def measured(value: Any, unit: str = "") -> SafeString:
    """Write a value of any kind: counts whole, other numbers rounded, bytes in words, times in UTC."""
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
    text = format_html("{}", f"{value:,}") if isinstance(value, int) else figure(value, 3)
    return format_html("{}{}{}", text, "" if unit == "%" else " ", unit) if unit else text
