"""Read what the load of a population left: whether it was made, and whether it is distributed as it is defined."""

from __future__ import annotations

import math
from collections.abc import Mapping

from runners.contract import Outputs, RunResult, RunSpec
from runners.tools.printed import main_errors, text_of

from . import command, population
from .parameters import Parameters, read

PARSER = "tatp/10"
LIKELY_BY_CHANCE = 1e-6
# A distribution that has each row of its table once.
COUNTED_BY = {
    "subscriber": "bit_1",
    "access_info": "data1",
    "special_facility": "is_active",
    "call_forwarding": "numberx first digits",
}


def failed(reason: str) -> RunResult:
    return RunResult(outcome="failed", reason=reason, parser=PARSER)


def parse_load(spec: RunSpec, outputs: Outputs) -> RunResult:
    """Return whether the population was made, and is distributed as it is defined."""
    stderr = text_of(outputs.stderr)
    if outputs.returncode != 0:
        errors = main_errors(stderr) or "it said nothing about it"
        return failed(f"The load of the population ended with code {outputs.returncode}: {errors}.")
    counted = read_distributions(text_of(outputs.files[command.DISTRIBUTIONS_FILE]))
    unlikely = unlikely_distributions(read(spec.parameters), counted)
    if unlikely:
        return failed(f"The population is not distributed as it is defined: see {', '.join(unlikely)}.")
    return RunResult("succeeded", "", PARSER, remarks=(checked_remark(read(spec.parameters), counted),))


def checked_remark(parameters: Parameters, counted: Mapping[str, Mapping[int, int]]) -> str:
    """Return a remark on what was counted, and on how the distributions agree with the definition."""
    rows = {table: sum(counted.get(column, {}).values()) for table, column in COUNTED_BY.items()}
    share_text = f"Checked on {rows.pop('subscriber'):,} of {parameters.subscribers:,} subscribers"
    rows_text = ", ".join(f"{number:,} rows of {table}" for table, number in rows.items())
    by_name = {
        name: probability(shares, counted.get(name, {}))
        for name, shares in population.expected_shares(parameters).items()
    }
    worst = min(by_name, key=lambda name: by_name[name])
    test_text = (
        f"all {len(by_name)} distributions are as defined, the least likely of them {worst} (p = {by_name[worst]:.2g})"
    )
    return f"{share_text} with {rows_text}: {test_text}."


def read_distributions(text: str) -> dict[str, dict[int, int]]:
    """Return the counts by distribution and value. Raises ValueError for a line that is none."""
    counted: dict[str, dict[int, int]] = {}
    for line in text.splitlines():
        name, value, count = line.split("|")
        counted.setdefault(name, {})[int(value)] = int(count)
    return counted


def unlikely_distributions(parameters: Parameters, counted: Mapping[str, Mapping[int, int]]) -> list[str]:
    """Return the names of the distributions that chance makes like this less than once in a million populations."""
    expected = population.expected_shares(parameters)
    return [name for name, shares in expected.items() if probability(shares, counted.get(name, {})) < LIKELY_BY_CHANCE]


def probability(shares: Mapping[int, float], counts: Mapping[int, int]) -> float:
    """Return the probability of counts as far from the shares, or farther (Pearson's chi-squared); 0 if impossible.

    The cube root of chi-squared is nearly normal (Wilson and Hilferty), which is close enough to tell one in a million.
    """
    total = sum(counts.values())
    if not total or set(counts) - set(shares):
        return 0.0
    statistic = sum((counts.get(value, 0) - total * share) ** 2 / (total * share) for value, share in shares.items())
    spread = 2 / (9 * (len(shares) - 1))
    deviations = ((statistic / (len(shares) - 1)) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)
    return math.erfc(deviations / math.sqrt(2)) / 2
