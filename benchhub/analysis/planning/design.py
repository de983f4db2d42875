"""Design experiments: choose which runs of a matrix are planned, and in which order.

A rule is a line of conditions such as `scale=3000; clients=100..160; threads=clients/2`: it holds for a run for which
each of them holds. A run is planned when it matches one of the rules to keep (or there are none) and none of those
that leave runs out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from .levels import Kind, LevelsError, parse

# Of a part of a design, which is an experiment of its own; and of a run in it. Systems and workloads by their numbers.
PART_FIELDS = ("workload", "scale", "threads")
RUN_FIELDS = ("system", "clients", "rate", "repeat")
EXAMPLE = "write conditions such as scale=3000; clients=100..160; threads=clients/2"
BLOCKED, SHUFFLED, RANDOM, LISTED = "blocked", "shuffled", "random", "listed"
HIGHEST_SEED = 2**31 - 1
NUMBERS = Kind("number", 100_000, 2_000_000, "")
# Of all conditions together; of lines of them.
MOST_NUMBERS, MOST_RULES = 200_000, 40


class DesignError(ValueError):
    """Raised for text that is no rule; the message says what to write."""


class Slot(NamedTuple):
    """One measuring run before it is one: the system's number from 1, the load level, and the repeat from 1."""

    system: int
    level: int
    repeat: int


@dataclass(frozen=True, slots=True)
class Condition:
    """`values` are whole numbers, or for `threads` the text of thread rules. `text` is as typed."""

    field: str
    values: frozenset[int | str]
    text: str


Rule = tuple[Condition, ...]


def rules(lines: Iterable[str]) -> list[Rule]:
    """Parse the rules in lines of text, leaving out empty lines. Raises DesignError."""
    parsed: list[Rule] = []
    numbers = 0
    for line in filter(str.strip, lines):
        conditions = []
        for text in filter(None, map(str.strip, line.split(";"))):
            conditions.append(_condition(text))
            numbers += len(conditions[-1].values)
            if numbers > MOST_NUMBERS or len(parsed) == MOST_RULES:
                raise DesignError(f"Write at most {MOST_RULES} lines, of {MOST_NUMBERS:,} numbers together.")
        parsed.append(tuple(conditions))
    return parsed


def _condition(text: str) -> Condition:
    field, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not value:
        raise DesignError(f"'{text}' is no condition: {EXAMPLE}.")
    if field not in (*PART_FIELDS, *RUN_FIELDS):
        names = ", ".join((*PART_FIELDS, *RUN_FIELDS))
        raise DesignError(f"'{field}' cannot be asked about: a condition is about one of {names}.")
    if field == "threads":
        return Condition(field, frozenset(rule.strip() for rule in value.split(",")), text)
    try:
        return Condition(field, frozenset(parse(value, NUMBERS)), text)
    except LevelsError as error:
        raise DesignError(f"In '{text[:80]}': {error}") from error


def for_part(lines: Iterable[str], part: Mapping[str, int | str]) -> list[str] | None:
    """Return the rules that remain to be asked of the runs of one part; None if a rule holds for all its runs.

    `part` gives its workload (by number), scale and threads. Rules that cannot hold there are left out.
    """
    rules_left = []
    for rule in rules(lines):
        if all(part[condition.field] in condition.values for condition in rule if condition.field in PART_FIELDS):
            texts = [condition.text for condition in rule if condition.field in RUN_FIELDS]
            if not texts:
                return None
            rules_left.append("; ".join(texts))
    return rules_left


def narrowed(
    kept_only: Sequence[str], left_out: Sequence[str], part: Mapping[str, int | str]
) -> tuple[list[str], list[str]] | None:
    """Return the rules (to keep, to leave out) for the runs of a part; None if no run of it is planned."""
    keep, drop = for_part(kept_only, part), for_part(left_out, part)
    if drop is None or (rules(kept_only) and keep == []):
        return None
    return keep or [], drop


def slots(
    systems: int,
    levels: Sequence[int],
    repeats: int,
    *,
    order: str = BLOCKED,
    seed: int = 0,
    kept_only: Sequence[str] = (),
    left_out: Sequence[str] = (),
    level: str = "clients",
) -> list[Slot]:
    """Return the measuring runs in their order. `level` says what conditions call the levels: clients, or rate.

    `blocked`: repeat by repeat, in each the levels as listed, at each level all systems, in every other repeat the
    other way round, so that none always comes first. `shuffled`: repeat by repeat, in each at random. `random`: all at
    random. `listed`: system by system, level by level, its repeats one after the other. The same seed always gives the
    same order (Python promises it of random(), not of shuffle()).
    """
    keep, drop = rules(kept_only), rules(left_out)
    planned = [slot for slot in _listed(systems, levels, repeats) if _is_planned(slot, keep, drop, level)]
    source = Random(seed)
    lots = {slot: source.random() for slot in planned} if order in (SHUFFLED, RANDOM) else {}
    index_by_level = {value: index for index, value in enumerate(levels)}
    keys: dict[str, Callable[[Slot], Any]] = {
        BLOCKED: lambda slot: (slot.repeat, index_by_level[slot.level], in_turn(slot.system, slot.repeat)),
        SHUFFLED: lambda slot: (slot.repeat, lots[slot]),
        RANDOM: lambda slot: lots[slot],
        LISTED: lambda slot: (slot.system, index_by_level[slot.level], slot.repeat),
    }
    return sorted(planned, key=keys[order])


def in_turn(place: int, repeat: int) -> int:
    """Return what to sort systems by within a repeat: as they are listed, in every other one the other way round."""
    return place if repeat % 2 else -place


def _listed(systems: int, levels: Sequence[int], repeats: int) -> Iterable[Slot]:
    for system in range(1, systems + 1):
        for value in levels:
            yield from (Slot(system, value, repeat) for repeat in range(1, repeats + 1))


def _is_planned(slot: Slot, keep: Sequence[Rule], drop: Sequence[Rule], level: str) -> bool:
    is_kept = not keep or any(holds(rule, slot, level) for rule in keep)
    return is_kept and not any(holds(rule, slot, level) for rule in drop)


def holds(rule: Rule, slot: Slot, level: str = "clients") -> bool:
    """Tell whether each condition of a rule about runs holds; one about a part never does here (see for_part)."""
    values = {"system": slot.system, level: slot.level, "repeat": slot.repeat}
    return all(values.get(condition.field) in condition.values for condition in rule)


def canary(planned: Sequence[Slot]) -> list[Slot]:
    """Return the runs to be run first: of each system one at its lowest and one at its highest level, in that order."""
    canaries: list[Slot] = []
    for system in dict.fromkeys(slot.system for slot in planned):
        system_slots = [slot for slot in planned if slot.system == system]
        lowest, highest = (pick(slot.level for slot in system_slots) for pick in (min, max))
        canaries += [
            next(slot for slot in system_slots if slot.level == clients) for clients in dict.fromkeys((lowest, highest))
        ]
    return canaries
