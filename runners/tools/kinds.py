"""The questions that a load generator asks, and its words for a workload: plain data, from which pages make forms.

A tool lists its kinds of workload; each kind has fields. A new type of field is one class here and one line in
benchhub/catalog/workloads/fields.py, which says how a page asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Values = Mapping[str, Any]
LONGEST_SCRIPT = 100_000  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One question. `name` is its name in forms and in the API; without a label the name is shown.

    What `is_rare` stands folded below the others.
    """

    name: str
    label: str = ""
    help_text: str = ""
    is_rare: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch(Field):
    """Yes or no; no where nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Field):
    """One of several values; `choices` are (value, words for it), and the first stands where none is required."""

    choices: tuple[tuple[str, str], ...]
    is_required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeNumber(Field):
    """A whole number of `unit`, such as "subscribers", within limits; without `highest` there is none."""

    unit: str
    lowest: int
    highest: int | None = None
    default: int | None = None
    is_required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights(Field):
    """A whole number for each transaction, in their order; its value is a mapping without zeros, or empty."""

    transactions: tuple[str, ...]
    highest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables(Field):
    """Lines of name = value; its value is a mapping. `check` raises ValueError for what is refused."""

    check: Callable[[Values], None]
    example: str
    json_help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sql(Field):
    """Optional SQL; its value is a text. `check` raises ValueError for what is refused."""

    check: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadShape(Field):
    """Optional rates that follow on each other; its value is a text, in the form that `canonical` gives it.

    `canonical` raises ValueError for what is refused.
    """

    canonical: Callable[[str], str]
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripts(Field):
    """Texts with weights; its value is a list of {"text", "weight"}. `check` takes a number from 1 and a text."""

    check: Callable[[int, str], None]


def chosen_from(values: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return choices that are shown as they are written."""
    return tuple((value, value) for value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Parameters that a new workload of a kind can start from."""

    title: str
    name: str
    parameters: Values
    remark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedWorkload:
    """A workload of a published report, as it is planned today."""

    name: str
    parameters: Values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """A kind of workload. `name` is its name in addresses and in the API, `title` its name for people.

    What the tool says against the parameters as a whole stands beside the field `refused_at`. `judged` are the fields
    that must be right before anything can be said of the whole; empty means all. Scripts are sent to servers as
    they are written, so `has_scripts` takes a right of its own.
    """

    name: str
    title: str
    fields: tuple[Field, ...]
    refused_at: str
    to_parameters: Callable[[Values, Values], dict[str, Any]]
    judged: tuple[str, ...] = ()
    has_scripts: bool = False
    presets: Mapping[str, Preset] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A workload in words. `load` is its script or mix, `size` how much data in the tool's own measure.

    `peculiarities` tell workloads of the same load and size apart, where something is not the default. `label_note`
    marks a curve that stands beside others without it. Empty where there is nothing to say.
    """

    load: str = ""
    size: str = ""
    query_mode: str = ""
    peculiarities: tuple[str, ...] = ()
    label_note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A text that a workload sends, as it is shown to readers."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class StatedRate:
    """What an output states of a run at a rate: which run that is, in words, and its latency limit; 0 for none."""

    words: str
    latency_limit_ms: float


@dataclass(frozen=True, slots=True)
class PlannedSegment:
    """A part of a run in which transactions are offered at one rate."""

    rate_tps: int
    duration_s: int


@dataclass(frozen=True, slots=True)
class StatementLatency:
    """How long a statement, or a command of a script, took on average.

    `failures` where the load generator counts them, `retries` where there may be some.
    """

    script: str
    text: str
    average_ms: float
    failures: int | None
    retries: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Facts that the numbers of a run must agree with, by its parameters.

    `commits_per_transaction` is None where nobody can tell.
    `average_latency` says what the printed average is: timed one by one, or of clients and rate unless a deviation
    stands beside it; empty where it is read from the log. `longest_pause_ms` is how long a client may pause before a
    transaction, by design. `is_steady`: the load stays the same for the whole run, so that throughput should too.
    `peak_ratio` is its highest planned rate over the average; `fewest_threads` work then, however few were asked for.
    `rate_rounding` is by how much the printed transactions a second may differ from the real ones, and
    `report_rounding_s` by how much the printed time of a report of progress.
    """

    commits_per_transaction: int | None = 1
    is_rate_limited: bool = False
    connects_each: bool = False
    average_latency: Literal["", "timed", "of clients"] = ""
    longest_pause_ms: float = 0.0
    is_steady: bool = True
    peak_ratio: float = 1.0
    fewest_threads: int = 1
    rate_rounding: float = 0.0
    report_rounding_s: float = 0.15
