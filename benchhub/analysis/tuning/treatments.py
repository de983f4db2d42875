"""Turn the steps of a tuning series into treatments: which steps each of its systems has.

A series has a baseline and steps, each a few settings of the server or of the operating system. Cumulative: each step
on top of those before. One at a time: each alone on the baseline. Factorial: combinations of steps, so that effects and
interactions are told apart while every run is at work for every effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Literal

from . import fractions

Kind = Literal["cumulative", "one-at-a-time", "factorial"]
CUMULATIVE: Kind = "cumulative"
ALONE: Kind = "one-at-a-time"
FACTORIAL: Kind = "factorial"
KINDS: Mapping[Kind, str] = {
    CUMULATIVE: "each step on top of the ones before",
    ALONE: "each step alone, on the baseline",
    FACTORIAL: "combinations of steps (factorial): effects and interactions",
}
MOST_STEPS = fractions.MOST_FACTORS
LONGEST_NAME = 60
BASELINE = "baseline"
Settings = Mapping[str, str]
Layer = Literal["settings", "os_settings"]
LAYERS: tuple[Layer, ...] = ("settings", "os_settings")
Treatment = tuple[int, ...]  # the numbers, from 1, of the steps that it has; none is the baseline


@dataclass(frozen=True, slots=True)
class Environment:
    """Settings of the server and of the operating system, which are told apart: a name may be in both layers."""

    settings: Settings = field(default_factory=dict)
    os_settings: Settings = field(default_factory=dict)

    def __or__(self, later: Environment) -> Environment:
        """Return these settings, changed by later ones."""
        return Environment({**self.settings, **later.settings}, {**self.os_settings, **later.os_settings})

    def __iter__(self) -> Iterator[tuple[Layer, str, str]]:
        """Yield (layer, name, value) of each setting."""
        for layer in LAYERS:
            settings: Settings = getattr(self, layer)
            for name, value in settings.items():
                yield layer, name, value

    def get(self, layer: Layer, name: str) -> str | None:
        settings: Settings = getattr(self, layer)
        return settings.get(name)


def environment(settings: Mapping[str, object], os_settings: Mapping[str, object]) -> Environment:
    """Return settings as text, whatever they were typed as."""
    return Environment(*({name: str(value) for name, value in row.items()} for row in (settings, os_settings)))


@dataclass(frozen=True, slots=True)
class Step:
    """A named change: what it sets."""

    name: str
    environment: Environment = field(default_factory=Environment)


def treatments(kind: Kind, steps: int, size: int | None = None) -> list[Treatment]:
    """Return the treatments in order, the baseline first; `size` is that of a factorial, None the usual one.

    Raises FractionError for a factorial that there is not.
    """
    numbers = range(1, steps + 1)
    if kind == CUMULATIVE:
        return [(), *(tuple(range(1, number + 1)) for number in numbers)]
    if kind == ALONE:
        return [(), *((number,) for number in numbers)]
    design = fractions.fraction(steps, size)
    return [tuple(sorted(place + 1 for place in places)) for places in design.treatments]


def environment_of(baseline: Environment, steps: Sequence[Step], treatment: Treatment) -> Environment:
    """Return the settings of a treatment: the baseline's, changed by each of its steps in their order."""
    return reduce(or_, (steps[number - 1].environment for number in treatment), baseline)


def label(treatment: Treatment, steps: Sequence[Step], kind: Kind) -> str:
    """Name a treatment: 'baseline', '3. huge pages' in a series of steps, 'shared_buffers + wal' in a factorial."""
    if not treatment:
        return BASELINE
    if kind == FACTORIAL:
        return " + ".join(steps[number - 1].name for number in treatment)
    return f"{treatment[-1]}. {steps[treatment[-1] - 1].name}"


def faults(kind: Kind, baseline: Environment, steps: Sequence[Step]) -> dict[int, list[str]]:
    """Find what is wrong with the steps: sentences by the number of the step."""
    sentences_by_step: dict[int, list[str]] = {}
    for number, step in enumerate(steps, start=1):
        before = steps[: number - 1]
        before_it = environment_of(baseline, before, tuple(range(1, number)) if kind == CUMULATIVE else ())
        sentences = [
            *_name_faults(step, before),
            *([] if any(step.environment) else ["It sets nothing: write its settings, a line each, name = value."]),
            *(_shared_faults(step, before) if kind == FACTORIAL else []),
            *(_idle_faults(step, before_it) or _repeated_faults(kind, baseline, steps, number)),
        ]
        if sentences:
            sentences_by_step[number] = sentences
    return sentences_by_step


def _name_faults(step: Step, before: Sequence[Step]) -> list[str]:
    if step.name.casefold() in {earlier.name.casefold() for earlier in before}:
        return [f"'{step.name}' is the name of a step before it: steps are told apart by their names."]
    return []


def _shared_faults(step: Step, before: Sequence[Step]) -> list[str]:
    """Refuse a setting of two steps: where both are made, one of them would not be."""
    return [
        f"{name} is set by '{earlier.name}' as well: in a factorial design a setting belongs to one step."
        for earlier in before
        for _, name in sorted(_places(step) & _places(earlier))
    ]


def _places(step: Step) -> set[tuple[Layer, str]]:
    return {(layer, name) for layer, name, _ in step.environment}


def _repeated_faults(kind: Kind, baseline: Environment, steps: Sequence[Step], number: int) -> list[str]:
    """Refuse a step that leads back to settings that are measured already: a system is in a series once."""
    if kind == FACTORIAL or not any(steps[number - 1].environment):
        return []
    rows = treatments(kind, number)
    environment = environment_of(baseline, steps, rows[-1])
    alike = [row for row in rows[:-1] if environment_of(baseline, steps, row) == environment]
    return (
        [f"With it all settings are as in '{label(alike[0], steps, kind)}', which is measured already."]
        if alike
        else []
    )


def _idle_faults(step: Step, current: Environment) -> list[str]:
    """Refuse a step that changes nothing: it would measure noise and be called an effect."""
    if not any(step.environment) or current | step.environment != current:
        return []
    return ["It changes nothing: all its settings are so before it."]
