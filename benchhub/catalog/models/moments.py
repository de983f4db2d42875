"""Moments until which something waits, by the warehouse's clock, which somebody may set back meanwhile."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import DurationField, Func, Q
from django.db.models.functions import Now

LONGEST_VISIT = timedelta(minutes=3)
# Two statements at once differ in what is now: what one of them has just set must not look far ahead to the other.
SLACK = timedelta(minutes=1)


def interval(seconds: Any) -> Func:
    """Return so many seconds as a period, in the database."""
    return Func(seconds, template="make_interval(secs => %(expressions)s)", output_field=DurationField())


def has_passed(field: str, most: Any) -> Q:
    """Return whether the moment has passed, or lies further ahead than the `most` that it is ever set by.

    The second is what a clock leaves that was set back since: waiting for it would take as long as that step.
    """
    return Q(**{f"{field}__lte": Now()}) | Q(**{f"{field}__gt": Now() + most + SLACK})


def may_visit() -> Q:
    """Return whether a row that hosts are visited for waits for nobody: no visit is under way, none was put off."""
    return Q(visit_until=None) | has_passed("visit_until", LONGEST_VISIT)
