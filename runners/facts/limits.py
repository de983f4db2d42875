"""What the control groups around an account let it use, of CPUs and of memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runners.readings import whole

from .counts import MOST_CPUS

MOST_GROUPS = 1024
NO_LIMIT = "none"


def read(sections: Mapping[str, str], cpus: int | None, memory_bytes: int | None) -> dict[str, Any]:
    """Return the CPUs and bytes of the narrowest groups, 'none' where none limits; empty where nobody can know."""
    if not sections.get("control_groups", "").strip():
        return {}
    return {
        "cpus": quota(quotas_text(sections), cpus) or NO_LIMIT,
        "memory_bytes": memory(sections.get("memory_limit", ""), memory_bytes) or NO_LIMIT,
    }


def quotas_text(sections: Mapping[str, str]) -> str:
    """Return the quotas of the root and of all groups within it, a line each."""
    return "\n".join(sections.get(name, "") for name in ("cpu_quota", "group_quotas"))


def quota(text: str, cpus: int | None) -> float | None:
    """Return the CPUs that the narrowest group gets the time of; None where that is no less than there are."""
    narrowest = min(_quotas(text), default=None)
    return round(narrowest, 3) if narrowest and narrowest < (cpus or MOST_CPUS) else None


def _quotas(text: str) -> Iterator[float]:
    """Yield the CPUs that each group gets the time of; nothing of one without a quota."""
    for line in text.splitlines()[:MOST_GROUPS]:
        budget, _, period = line.partition(" ")
        budget_us, period_us = whole(budget), whole(period)
        if budget_us and period_us:
            yield budget_us / period_us


def memory(text: str, memory_bytes: int | None) -> int | None:
    """Return the bytes that the narrowest group may use; None where that is no less than there is."""
    limits = [whole(line) for line in text.splitlines()[:MOST_GROUPS]]
    narrowest = min((limit for limit in limits if limit), default=None)
    return narrowest if narrowest and (memory_bytes is None or narrowest < memory_bytes) else None
