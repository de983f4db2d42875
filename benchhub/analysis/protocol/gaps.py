"""Numbers within the range of pg_settings that a server refuses all the same, or silently makes another number of.

Source: the check hooks of PostgreSQL 13 to 18, tried with `postgres -C name -c name=value`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from .parameters import Parameter
from .settings import readable

BANK = 16  # SLRU_BANK_SIZE, in pages


@dataclass(frozen=True, slots=True)
class Gap:
    """Below `lowest` only `special` is taken, a number with a meaning of its own; all are multiples of `step`.

    `like` names the setting whose lowest value is the lowest of this one as well, as it differs between versions.
    """

    special: int
    lowest: int = 0
    step: int = 1
    like: str = ""


GAPS: Mapping[str, Gap] = {
    "autovacuum_work_mem": Gap(special=-1, like="maintenance_work_mem"),
    "vacuum_buffer_usage_limit": Gap(special=0, lowest=128),
    "wal_buffers": Gap(special=-1, lowest=4),
    "commit_timestamp_buffers": Gap(special=0, step=BANK),
    "multixact_member_buffers": Gap(special=0, step=BANK),
    "multixact_offset_buffers": Gap(special=0, step=BANK),
    "notify_buffers": Gap(special=0, step=BANK),
    "serializable_buffers": Gap(special=0, step=BANK),
    "subtransaction_buffers": Gap(special=0, step=BANK),
    "transaction_buffers": Gap(special=0, step=BANK),
}
LIKE = tuple(gap.like for gap in GAPS.values() if gap.like)


def in_gap(parameter: Parameter, value: str, number: str, parameters: Mapping[str, Parameter]) -> str:
    """Return why the value, `number` in the parameter's own unit, lies in a gap, as a sentence; empty if it does not.

    `parameters` are those that the server knows, by name.
    """
    # A server that lies may call it a text, or give its bounds decimals.
    gap = GAPS.get(parameter.name) if parameter.kind == "integer" else None
    if gap is None or int(number) == gap.special:
        return ""
    like = parameters.get(gap.like)
    lowest = like.lowest if like and like.kind == "integer" and like.lowest else str(gap.lowest)
    if int(number) < Decimal(lowest):
        return f"{parameter.name} is {gap.special} or at least {readable(lowest, parameter.unit)}, not {value}."
    if int(number) % gap.step:
        return f"{parameter.name} is a multiple of {gap.step}, not {value}."
    return ""
