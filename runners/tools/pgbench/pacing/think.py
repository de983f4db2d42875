"""Think time: a pause before each transaction of a client, drawn so that the log tells it again.

pgbench counts \\sleep into the latency of its transaction, and its log has no column for it. So the pause is no random
number but a function of what the log has: the client and the number of its transaction. The response time is then the
logged latency without that pause. Every run of a plan has the same pauses, whichever system it measures.

For client c and transaction n the draw is y / P with z = (n A + c B + C) mod P and y = z^5 mod P + 1: exact in the 64
bits of pgbench and in the 53 of awk. P is prime and P - 1 no multiple of 5, so that each draw comes equally often.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

EXPONENTIAL, UNIFORM, CONSTANT = "exponential", "uniform", "constant"
DISTRIBUTIONS = (EXPONENTIAL, UNIFORM, CONSTANT)
LONGEST_THINK_MS = 60_000
# Longer pauses than so many times the average are cut to that, as TPC-C has it: one in 22,000.
LONGEST_TIMES = {EXPONENTIAL: 10, UNIFORM: 2, CONSTANT: 1}
PRIME, STEP, CLIENT_STEP, START = 67_108_859, 7_368_787, 2_750_159, 12_345
# The variables of the lines below: no script of a workload may have one of these names.
VARIABLES = ("think_n", "think_z", "think_y", "think_us")
LONGEST_NUMBER = 15

DRAW = (
    r"\set think_n :think_n + 1",
    rf"\set think_z (:think_n * {STEP} + :client_id * {CLIENT_STEP} + {START}) % {PRIME}",
    rf"\set think_y :think_z * :think_z % {PRIME}",
    rf"\set think_y :think_y * :think_y % {PRIME}",
    rf"\set think_y :think_y * :think_z % {PRIME} + 1",
)

# Before a program that reads the log: the third column becomes the response time, and `pause` what it was longer by.
AWK = f"""\
function pause_us(client, transaction,    z, y) {{
    if (distribution == "{CONSTANT}") return think_us
    z = (transaction % {PRIME} * {STEP} + client % {PRIME} * {CLIENT_STEP} + {START}) % {PRIME}
    y = z * z % {PRIME}
    y = y * y % {PRIME}
    y = y * z % {PRIME} + 1
    if (distribution == "{UNIFORM}") return int(2 * think_us * y / {PRIME})
    z = int(-think_us * log(y / {PRIME}))
    return z < {LONGEST_TIMES[EXPONENTIAL]} * think_us ? z : {LONGEST_TIMES[EXPONENTIAL]} * think_us
}}
NF >= 6 && $3 ~ /^[0-9]+$/ && ($1 $2) ~ /^[0-9]+$/ && length($1 $2) <= {LONGEST_NUMBER} \\
    && length($3) <= {LONGEST_NUMBER} {{
    pause = pause_us($1, $2)
    $3 = sprintf("%.0f", $3 > pause ? $3 - pause : 0)
}}
"""


@dataclass(frozen=True, slots=True)
class Think:
    """How long a client pauses before each transaction: on average, in milliseconds, and distributed how."""

    average_ms: int
    distribution: str = EXPONENTIAL

    @property
    def longest_ms(self) -> int:
        """Return the longest pause that is drawn."""
        return self.average_ms * LONGEST_TIMES[self.distribution]

    def script_lines(self) -> tuple[str, ...]:
        """Return the lines of pgbench that pause: they stand before a script."""
        if self.distribution == CONSTANT:
            return (rf"\sleep {self.average_ms} ms",)
        return (*DRAW, rf"\set think_us {self._expression()}", r"\sleep :think_us us")

    def _expression(self) -> str:
        mean_us = 1000 * self.average_ms
        if self.distribution == UNIFORM:
            return f"2 * {mean_us} * :think_y / {PRIME}"
        return f"least(int(-{mean_us} * ln(:think_y / {PRIME}.0)), {1000 * self.longest_ms})"

    def variables(self) -> dict[str, int]:
        """Return the variables with which pgbench must begin."""
        return {} if self.distribution == CONSTANT else {"think_n": 0}

    def awk_values(self) -> list[str]:
        """Return the words that give AWK its values."""
        return ["-v", f"think_us={1000 * self.average_ms}", "-v", f"distribution={self.distribution}"]

    def pause_us(self, client: int, transaction: int) -> int:
        """Return the pause before a transaction of a client, as numbered in pgbench's log."""
        mean_us = 1000 * self.average_ms
        if self.distribution == CONSTANT:
            return mean_us
        z = (transaction * STEP + client * CLIENT_STEP + START) % PRIME
        y = pow(z, 5, PRIME) + 1
        if self.distribution == UNIFORM:
            return 2 * mean_us * y // PRIME
        return min(int(-mean_us * math.log(y / PRIME)), 1000 * self.longest_ms)

    def responses(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines of a log with response times in place of latencies; lines without one as they are."""
        for line in lines:
            columns = line.split()
            if len(columns) >= 6 and _is_number(columns[2]) and _is_number(columns[0] + columns[1]):
                client, transaction, latency_us = map(int, columns[:3])
                columns[2] = b"%d" % max(0, latency_us - self.pause_us(client, transaction))
                yield b" ".join(columns)
            else:
                yield line


def _is_number(word: bytes) -> bool:
    return word.isdigit() and len(word) <= LONGEST_NUMBER
