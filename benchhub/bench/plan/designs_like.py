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
        """The conditions that tell this part from the others."""
        many = (len(self.workloads) > 1, len(self.scales) > 1, len(self.rules) > 1)
        words = zip(("workload", "scale", "threads"), place, many, strict=True)
        return "; ".join(f"{field}={value}" for field, value, is_asked in words if is_asked)


def like(design: Design) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The form's values, and its systems', of a plan with all parts of this design."""
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
    """Workloads that differ in their scale only are one; of these the first that was made stands for all."""
    kinds: dict[str, list[Experiment]] = {}
    for part in parts:
        kinds.setdefault(_kind(part), []).append(part)
    number = {kind: place for place, kind in enumerate(kinds, start=1)}
    return Matrix(
        parts={(number[_kind(part)], _scale(part), part.thread_rule): part for part in parts},
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
    """Which runs are kept and left out, each by a line: what all parts have in common is said once."""
    without = [grid.named(place) for place in grid.places() if place not in grid.parts]
    return {
        "kept_only": "\n".join(_lines(grid, "kept_only", needs_all=True)),
        "left_out": "\n".join([*without, *_lines(grid, "left_out", needs_all=False)]),
    }


def _lines(grid: Matrix, name: str, *, needs_all: bool) -> list[str]:
    """`needs_all`: as soon as one part is asked for by rules, each must be, also one that has none of its own."""
    rules = {place: list(getattr(part, name)) for place, part in grid.parts.items()}
    own = list(rules.values())
    if all(other == own[0] for other in own):
        return own[0]
    listed = [(grid.named(place), rule) for place, lines in rules.items() for rule in lines or [""] * needs_all]
    return [f"{part}; {rule}" if rule else part for part, rule in listed]
