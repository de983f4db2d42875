"""The form fields of a TATP workload."""

from __future__ import annotations

from typing import Any

from runners.tools.kinds import Choice, Kind, Values, Weights, WholeNumber, chosen_from

from .parameters import (
    CHOICES,
    CUSTOM_MIX,
    DEFINITION,
    FEWEST_SUBSCRIBERS,
    FIELDS,
    HIGHEST_SEED,
    HIGHEST_WEIGHT,
    MOST_SUBSCRIBERS,
    ORIGINAL_TOOL,
    TRANSACTIONS,
)

ALWAYS_WRITTEN = ("subscribers", "mix")


def _parameters(values: Values, before: Values) -> dict[str, Any]:
    """Leave out what is the default, so that the recipe of a data set stays the same when defaults are added."""
    del before
    if values["mix"] == CUSTOM_MIX and not values["weights"]:
        raise ValueError(
            f"A custom mix needs its weights. Write {len(TRANSACTIONS)} whole numbers, one for each transaction."
        )
    defaults = {name: field.default for name, field in FIELDS.items()}
    full_values = {name: values.get(name, defaults[name]) for name in FIELDS if name != "weights"}
    parameters = {
        name: value for name, value in full_values.items() if name in ALWAYS_WRITTEN or value != defaults[name]
    }
    return parameters | ({"weights": values["weights"]} if values["weights"] else {})


TATP = Kind(
    name="tatp",
    title="TATP",
    fields=(
        WholeNumber(
            name="subscribers",
            unit="subscribers",
            lowest=FEWEST_SUBSCRIBERS,
            highest=MOST_SUBSCRIBERS,
            default=100_000,
            help_text="100,000 are 90 MB with indexes; 1,000,000 are the definition's usual size, 0.9 GB.",
        ),
        Choice(
            name="mix",
            choices=chosen_from(CHOICES["mix"]),
            help_text="80/20 is the default: four reads to one write. R100 only reads, W100 only writes.",
        ),
        Weights(
            name="weights",
            label="Weights of a custom mix",
            transactions=TRANSACTIONS,
            highest=HIGHEST_WEIGHT,
            help_text=f"Seven numbers, for: {', '.join(TRANSACTIONS)}. Empty for a named mix.",
        ),
        Choice(
            name="keys",
            choices=chosen_from(CHOICES["keys"]),
            help_text="By the definition some subscribers are used more often than others; uniform is another "
            "workload.",
        ),
        Choice(
            name="population",
            label="Call forwardings last",
            choices=(
                (DEFINITION, "by the definition, 1 to 8 hours"),
                (ORIGINAL_TOOL, "as the original tool does, 1 to 24 hours"),
            ),
        ),
        WholeNumber(
            name="seed",
            unit="for the seed",
            lowest=0,
            highest=HIGHEST_SEED,
            default=1,
            help_text="The same seed makes the same rows, on any server.",
        ),
    ),
    refused_at="weights",
    to_parameters=_parameters,
    judged=("mix", "weights"),
)
