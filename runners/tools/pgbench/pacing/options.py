"""The parameters of think times and load shapes, as fields of pgbench's parameters, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runners.tools.kinds import Choice, LoadShape, WholeNumber, chosen_from

from ..options import option
from . import shape
from .think import DISTRIBUTIONS, LONGEST_THINK_MS, Think


def load_shape() -> Any:
    """Return the field of the rates that follow on each other within a run."""
    return option(
        "",
        feature="load shapes",
        words="offered at a rate (TPS) for so many seconds: {}",
        since=(10,),
        question=LoadShape(
            name="load_shape",
            label="Load shape",
            canonical=shape.canonical,
            example="100 for 60, 400 for 20, 100 for 60",
            help_text="Rates that follow on each other within a run: transactions a second, for so many seconds. The "
            "run has to last as long as all of them. Empty: no rate. Needs pgbench 10 or newer.",
        ),
    )


def think_ms() -> Any:
    """Return the field of the average pause before each transaction."""
    return option(
        0,
        feature="think times",
        words="thinks {:,} ms before each transaction",
        since=(13,),
        question=WholeNumber(
            name="think_ms",
            label="Think time, ms",
            unit="ms",
            lowest=0,
            highest=LONGEST_THINK_MS,
            default=0,
            is_required=False,
            help_text="How long a client pauses before each transaction, on average; 0: it never does. Response times "
            "leave the pause out. Needs pgbench 13 or newer.",
        ),
    )


def think_distribution() -> Any:
    """Return the field of how pauses are distributed."""
    return option(
        DISTRIBUTIONS[0],
        feature="distributions of think times",
        words="{} think times",
        question=Choice(
            name="think_distribution",
            label="Think times are",
            choices=chosen_from(DISTRIBUTIONS),
            is_required=False,
            help_text="Exponential ones are those of people; with constant ones clients may fall into step.",
        ),
    )


def shape_of(parameters: Mapping[str, Any]) -> shape.Shape | None:
    """Return the load shape of parameters that were checked before; None where there is none."""
    return shape.read(text) if (text := parameters.get("load_shape")) else None


def think_of(parameters: Mapping[str, Any]) -> Think | None:
    """Return the think time of parameters that were checked before; None where there is none."""
    if not (average_ms := parameters.get("think_ms")):
        return None
    return Think(average_ms, parameters.get("think_distribution", DISTRIBUTIONS[0]))
