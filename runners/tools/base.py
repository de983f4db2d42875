"""What a load generator has to offer. One module per tool offers it; the registry is in the package.

The commands are POSIX sh text. The caller runs them in the attempt's folder with LC_ALL=C and PGHOST, PGPORT,
PGUSER, PGDATABASE, PGAPPNAME and PGPASSFILE set, and keeps their stdout and stderr; the exit code of the
text's last command counts. Nothing here touches a file, a host or a database.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from runners.contract import Outputs, RunResult, RunSpec

# What a parser may raise on outputs that make no sense: they come from machines and people that may be wrong.
UNREADABLE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)


class Tool(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def program(self) -> str:
        """The program that makes the load, as its command line names it."""

    @property
    def on_path(self) -> tuple[str, ...]:
        """Programs that the driver must have on its path: those of its PostgreSQL are found by their folder."""

    @property
    def unit(self) -> str:
        """The unit of the tool's throughput. The measure and the series have its name in small letters; the series of
        a warm-up has "warmup_" before it.

        Curves of unlike units are never compared.
        """

    @property
    def live_unit(self) -> str:
        """The unit of what a look at a run under way finds, where that is not yet the throughput."""

    @property
    def parser(self) -> str:
        """Name and version of the parser, such as "pgbench/1": stored with every result that it made."""

    @property
    def samples_log(self) -> bool:
        """Whether it keeps a log of which a share may be left out; one that only counts has every transaction."""

    @property
    def takes_rate(self) -> bool:
        """Whether it can offer transactions at a rate: parameters "rate_tps" and "latency_limit_ms"."""

    def client(self, tool_version: str) -> str:
        """Return the program with its version as far as a plan can know it: curves must agree on it."""

    def check(self, spec: RunSpec) -> None:
        """Raise ValueError, with one sentence for the user, when this cannot be run as it was asked for."""

    def in_full(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters as a person is shown them, with what was left to its default where that decides."""

    def data_set(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the canonical recipe of the data set: tool and size, and what else is not the default."""

    def data_set_bytes(self, parameters: Mapping[str, Any]) -> int:
        """Return about how much room the data set takes with its indexes, freshly loaded."""

    def writes(self, parameters: Mapping[str, Any]) -> bool:
        """Return whether the load changes rows, so that checkpoints and the log have work to do."""

    def load_guess_s(self, parameters: Mapping[str, Any]) -> float:
        """Return the seconds that a load may take on a small machine: what others took is compared with that."""

    def tps_guess(self, parameters: Mapping[str, Any]) -> float:
        """Return a high guess of the transactions a second for each hardware thread: for the size of logs."""

    def rarest_share(self, parameters: Mapping[str, Any]) -> float:
        """Return about what share of transactions is of the rarest type that has response times of its own."""

    def load_command(self, spec: RunSpec) -> str:
        """Return the command that makes the data set, replacing an older one."""

    def verify_command(self, spec: RunSpec) -> str:
        """Return the command that exits non-zero, with a sentence on stderr, unless the data set is there."""

    def warmup_command(self, spec: RunSpec) -> str:
        """Return the command that runs the load for `warmup_s`; what it prints stays apart.

        Empty where the measured command begins with the warm-up and its outputs tell the two apart.
        """

    def measure_command(self, spec: RunSpec) -> str:
        """Return the command that runs the load for `duration_s`, and nothing else: it is what is measured."""

    def reduce_command(self, spec: RunSpec) -> str:
        """Return the command that then makes large outputs small; empty where there is nothing to do."""

    def throughput_command(self, spec: RunSpec) -> str:
        """Return the command that prints the throughput of what was left and reduced, for those without BenchHub.

        Empty where the load generator prints it itself.
        """

    def parse(self, spec: RunSpec, outputs: Outputs) -> RunResult:
        """Return what an attempt measured. Outputs that make no sense are a failed result, not an error."""

    def fingerprint_query(self, parameters: Mapping[str, Any]) -> str:
        """Return SQL that gives one text which sums up what the data set contains now."""

    def age_query(self, parameters: Mapping[str, Any]) -> str:
        """Return SQL that gives the number of write transactions since the data set was loaded."""
