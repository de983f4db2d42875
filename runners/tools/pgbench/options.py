"""Describe a parameter of pgbench in one place: its question, the first version that has it, and its command line."""

from __future__ import annotations

from dataclasses import Field, dataclass, field
from typing import Any

from runners.tools.kinds import Choice, LoadShape, Switch, WholeNumber

Version = tuple[int, ...]
Question = Choice | LoadShape | Switch | WholeNumber

OLDEST: Version = (9, 3)
KEY = "option"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A parameter that may be left out. Forms and the API ask `question`; without one, something else sets it.

    `feature` names it where a version before `since` refuses it. `argument` is its part of the command line (""
    where it has none), `words` what sets a workload apart that has not the default: {} stands for the value in both.
    `zero_words` stand in their place where 0 is no number but means that there is no limit.
    """

    feature: str
    words: str
    zero_words: str = ""
    argument: str = ""
    since: Version = OLDEST
    is_of_data_set: bool = False
    question: Question | None = None

    def worded(self, value: Any) -> str:
        """Return in words what a value sets apart."""
        return self.zero_words if self.zero_words and value == 0 else self.words.format(value)

    def check(self, name: str, value: Any) -> None:
        """Raise ValueError, with one sentence, for a value that it cannot have."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        match self.question:
            case None if not is_number:
                raise ValueError(f"pgbench's {name} must be a number, not {value!r}.")
            case Switch() if not isinstance(value, bool):
                raise ValueError(f"pgbench's {name} must be true or false, not {value!r}.")
            case LoadShape() as shape:
                _check_shape(name, value, shape)
            case WholeNumber() as number:
                _check_whole_number(name, value, number)
            case Choice() as choice if value not in (values := [value for value, _ in choice.choices]):
                raise ValueError(f"pgbench's {name} must be {' or '.join(values)}, not {value!r}.")


def _check_shape(name: str, value: Any, question: LoadShape) -> None:
    if not isinstance(value, str):
        raise ValueError(f"pgbench's {name} must be a text such as {question.example}, not {value!r}.")
    question.canonical(value)


def _check_whole_number(name: str, value: Any, question: WholeNumber) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"pgbench's {name} must be a whole number, not {value!r}.")
    if question.highest is None and value < question.lowest:
        raise ValueError(f"pgbench's {name} must be {question.lowest:,} or more, not {value:,}.")
    if question.highest is not None and not question.lowest <= value <= question.highest:
        limits = f"between {question.lowest:,} and {question.highest:,}"
        raise ValueError(f"pgbench's {name} must be {limits}, not {value:,}.")


def option(default: Any, **description: Any) -> Any:
    """Return a field of a dataclass that is described by an `Option`."""
    return field(default=default, metadata={KEY: Option(**description)})


def times_statements() -> Any:
    """Return the field of whether pgbench takes the time of each statement as well."""
    question = Switch(
        name="statement_latencies",
        label="Latency by statement",
        help_text="The run's page has the average of each statement. To take its time costs pgbench a little CPU (-r).",
    )
    words = "latencies by statement"
    return option(False, feature=words, argument="-r", words=words, question=question)


def option_of(parameter: Field[Any]) -> Option | None:
    """Return the description of a dataclass's field; None for one that has none."""
    return parameter.metadata.get(KEY)
