"""Claims and facts of a load shape: those of all its processes, each beside its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runners.contract import RunSpec
from runners.tools.claims import LONGEST_WORDS, SERVER_VERSION, Claim, Fact

from .. import output
from ..claims import facts, stated
from ..parameters import read
from .layers import layer_specs


def claims_of(spec: RunSpec, stdout: str) -> dict[str, Claim]:
    """Return what the summaries claim; {} for a workload without a load shape, or too few or many summaries."""
    shape = read(spec.parameters).shape
    parts = output.LAYOUT.parts(stdout)
    if shape is None or len(parts) != len(specs := layer_specs(spec, shape)):
        return {}
    rows = [stated.claims_of(own, part.text) for own, part in zip(specs, parts, strict=True)]
    names = [name for name in rows[0] if all(name in row for row in rows)]
    joined = {name: _joined([row[name] for row in rows]) for name in names if name != SERVER_VERSION}
    return joined | {name: rows[0][name] for name in names if name == SERVER_VERSION}


def facts_of(spec: RunSpec, *, is_own: bool) -> dict[str, Fact]:
    """Return the same facts as they were asked for; {} for a workload without a load shape."""
    if (shape := read(spec.parameters).shape) is None:
        return {}
    rows = [facts.facts_of(own, is_own=is_own) for own in layer_specs(spec, shape)]
    return {
        name: Fact(tuple(row[name].value for row in rows), _words([row[name].words for row in rows]))
        for name in rows[0]
    }


def _joined(rows: Sequence[Claim]) -> Claim:
    def agrees(values: Any) -> bool:
        return all(claim.agrees(value) for claim, value in zip(rows, values, strict=True))

    return Claim(_words([claim.words for claim in rows]), agrees)


def _words(texts: Sequence[str]) -> str:
    text = "; ".join(dict.fromkeys(texts))
    return text if len(text) <= LONGEST_WORDS else f"{text[:LONGEST_WORDS]}…"
