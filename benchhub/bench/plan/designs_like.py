"""A design as the form would have it: its parts, each an experiment of its own, put back together as a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchhub.analysis.planning.levels import spell
from benchhub.bench.models import Design, Experiment
from runners import tools

from . import preview

Place = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Parts by (workload's number from 1, scale, thread rule); `workloads` are a row for each number."""

    parts: Mapping[Place, Experiment]
    workloads: tuple[int, ...]
    scales: tuple[int, ...]
    rules: tuple[str, ...]

    def places(self) -> Iterator[Place]:
        for number in range(1, len(self.workloads) + 1):
            for scale in self.scales:
                yield from ((number, scale, rule) for rule in self.rules)

    def named(self, place: Place) -> str:
        """Return the conditions that tell this part from the others."""
        many = (len(self.workloads) > 1, len(self.scales) > 1, len(self.rules) > 1)
        words = zip(("workload", "scale", "threads"), place, many, strict=True)
        return "; ".join(f"{field}={value}" for field, value, has_many in words if has_many)


def like(design: Design) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the form's values, and those of its systems, for a plan with all parts of this design."""
    parts = list(design.experiments.select_related("workload").order_by("pk"))
    values, systems = preview.like(parts[0])
    grid = matrix(parts)
    values |= {"name": design.name, "remark": design.remark, "preset": design.preset}
    values |= {
        "workload": grid.workloads[0],
        "more_workloads": list(grid.workloads[1:]),
        "scales": spell(grid.scales) if len(grid.scales) > 1 else "",
        "thread_rule": ", ".join(grid.rules),
        **conditions(grid),
    }
    return values, systems


def matrix(parts: Sequence[Experiment]) -> Matrix:
    """Put the parts together. Workloads that differ only in scale are one; the oldest of them stands for all."""
    kinds: dict[str, list[Experiment]] = {}
    for part in parts:
        kinds.setdefault(_kind(part), []).append(part)
    numbers = {kind: number for number, kind in enumerate(kinds, start=1)}
    return Matrix(
        parts={(numbers[_kind(part)], _scale(part), part.thread_rule): part for part in parts},
        workloads=tuple(min(part.workload_id for part in kind_parts) for kind_parts in kinds.values()),
        scales=tuple(dict.fromkeys(map(_scale, parts))),
        rules=tuple(dict.fromkeys(part.thread_rule for part in parts)),
    )


def _kind(part: Experiment) -> str:
    tool, parameters = tools.get(part.workload.tool), part.workload.parameters
    return repr((tool.name, sorted(tool.at_scale(parameters, 1).items(), key=repr)))


def _scale(part: Experiment) -> int:
    return part.workload.scale or 1


def conditions(grid: Matrix) -> dict[str, str]:
    """Return which runs are kept and left out, one condition per line; what all parts share comes once."""
    missing = [grid.named(place) for place in grid.places() if place not in grid.parts]
    return {
        "kept_only": "\n".join(_lines(grid, "kept_only", needs_all=True)),
        "left_out": "\n".join([*missing, *_lines(grid, "left_out", needs_all=False)]),
    }


def _lines(grid: Matrix, name: str, *, needs_all: bool) -> list[str]:
    """Return the rules of all parts as lines.

    `needs_all`: as soon as one part has rules, each needs a line, also one that has no rule of its own.
    """
    rules = {place: list(getattr(part, name)) for place, part in grid.parts.items()}
    first, *others = rules.values()
    if all(other == first for other in others):
        return first
    pairs = [(grid.named(place), rule) for place, lines in rules.items() for rule in lines or [""] * needs_all]
    return [f"{part}; {rule}" if rule else part for part, rule in pairs]
