"""The interface of a load generator. One module per tool implements it; the registry is in the package.

The commands are POSIX sh text. The caller runs them in the attempt's folder with LC_ALL=C and PGHOST, PGPORT,
PGUSER, PGDATABASE, PGAPPNAME and PGPASSFILE set, and keeps their stdout and stderr; the exit code of the
text's last command counts. Nothing here touches a file, a host or a database.

Whatever the rest of BenchHub wants to know of a workload it asks of its tool: nobody else reads parameters.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from runners.contract import Doubt, Outputs, RunResult, RunSpec
from runners.tools.claims import SERVER_VERSION, Claim, Contradiction, Fact, contradictions
from runners.tools.kinds import (
    Description,
    Expectation,
    Kind,
    PlannedSegment,
    PublishedWorkload,
    Script,
    StatedRate,
    StatementLatency,
)
from runners.tools.parts import Part

# What a parser may raise on outputs that make no sense: they come from machines and people that may be wrong.
UNREADABLE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)


class Tool(ABC):
    """A load generator. What has a default here is left out by tools that have nothing to say."""

    name: str
    # The program that makes the load, as its command line names it.
    program: str
    # Programs that the driver must have on its path.
    on_path: tuple[str, ...] = ()
    # Programs that the driver must have in the folder of its PostgreSQL.
    in_folder: tuple[str, ...] = ()
    # The unit of the throughput. The measure and the series have its name in small letters; the series of a warm-up
    # has "warmup_" before it. Curves of unlike units are never compared.
    unit: str
    # Name and version of the parser, such as "pgbench/7": stored with every result that it made.
    parser: str
    # The kinds of workload that it runs, the usual one first.
    kinds: tuple[Kind, ...]
    # The workloads of published reports, by the name of the plan that carries the report out again.
    published: Mapping[str, Sequence[PublishedWorkload]] = MappingProxyType({})
    # The parameters that lists are sorted by: script or mix, and size. Empty where there is none.
    load_parameter: str = ""
    size_parameter: str = ""
    # The values of the first: scripts or mixes.
    loads: tuple[str, ...] = ()
    # Whether it keeps a log of which a share may be left out; one that only counts has every transaction.
    samples_log: bool = False
    # Whether it sends nothing before each client has a session of the server.
    begins_together: bool = False
    # Whether warm-up and load are one process, so that a transaction may begin in the one and end in the other.
    continues_warmup: bool = False
    # Whether there is no result without that log.
    needs_log: bool = False
    # The beginnings of lines that stand in every report that can be read, by which one is known that cannot be.
    beginnings: tuple[str, ...] = ()
    # The beginnings of lines that it writes to stderr, which are known to be there alike.
    message_beginnings: tuple[str, ...] = ()
    # What else those lines have, so that no message of a script passes for one.
    message_line: re.Pattern[str] | None = None
    # Lines that every version prints once, one of the alternatives that "|" divides: a report without one is cut off.
    always: tuple[str, ...] = ()
    # How a report writes facts of its run with which a form of an import is filled, by their names in claims.py: the
    # client's and the server's version, the duration in whole seconds; the pattern's group is what the form takes.
    stated: Mapping[str, re.Pattern[str]] = MappingProxyType({})
    # Files that a delivered output needs beside what was printed.
    needed_files: tuple[str, ...] = ()
    # Types of transaction that have response times of their own, in the order of their definition.
    transactions: tuple[str, ...] = ()
    # Those of them that are counted one by one even where the log is a sample.
    counted_transactions: tuple[str, ...] = ()
    # The measure that is the throughput by a stricter rule; empty where there is one rule.
    strict_measure: str = ""
    # Whether it can offer transactions at a rate (`at_rate`).
    takes_rate: bool = False

    @property
    def live_unit(self) -> str:
        """Return the unit of the rate that a look at a run under way shows, where that is not yet the throughput."""
        return self.unit

    # --- a workload ---------------------------------------------------------------------------------------------

    def kind_of(self, parameters: Mapping[str, Any]) -> Kind:
        """Return the kind of workload that has these parameters."""
        del parameters
        return self.kinds[0]

    @abstractmethod
    def describe(self, parameters: Mapping[str, Any]) -> Description:
        """Return the workload in words, for lists and labels."""

    def distinguishing(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters that tell protocols apart: without what changes nothing beside the others."""
        return parameters

    def in_full(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters as a person is shown them, with what was left to its default where that decides."""
        return parameters

    def scripts(self, parameters: Mapping[str, Any]) -> Sequence[Script]:
        """Return the texts that a person wrote and that the load sends, in their order."""
        del parameters
        return ()

    def scripts_digest(self, parameters: Mapping[str, Any]) -> str:
        """Return the SHA-256, in hex, of what custom scripts send; "" for other workloads."""
        del parameters
        return ""

    def client(self, tool_version: str) -> str:
        """Return the program with its version as far as a plan can know it: curves must agree on it."""
        return f"{self.program} {tool_version}"

    @abstractmethod
    def check(self, spec: RunSpec) -> None:
        """Raise ValueError, with one sentence for the user, when this cannot be run as it was asked for."""

    @abstractmethod
    def data_set(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the canonical recipe of the data set: tool and size, and what else is not the default.

        Raises ValueError, with one sentence for the user, for parameters that cannot be.
        """

    @abstractmethod
    def data_set_bytes(self, parameters: Mapping[str, Any]) -> int:
        """Return about how much room the data set takes with its indexes, freshly loaded."""

    @abstractmethod
    def writes(self, parameters: Mapping[str, Any]) -> bool:
        """Return whether the load changes rows, so that checkpoints and the log have work to do."""

    def prepares(self, parameters: Mapping[str, Any]) -> bool:
        """Return whether it sends prepared statements, which belong to a session of the server."""
        del parameters
        return False

    def contended_rows(self, parameters: Mapping[str, Any]) -> int | None:
        """Return how many rows all clients update in turn; None where clients seldom wait for each other."""
        del parameters
        return None

    @abstractmethod
    def load_guess_s(self, parameters: Mapping[str, Any]) -> float:
        """Return the seconds that a load may take on a small machine: what others took is compared with that."""

    @abstractmethod
    def tps_guess(self, parameters: Mapping[str, Any]) -> float:
        """Return a high guess of the transactions a second for each hardware thread: for the size of logs."""

    def pause_ms(self, parameters: Mapping[str, Any]) -> float:
        """Return how long a client pauses before each transaction on average; 0 where it never does."""
        del parameters
        return 0.0

    def rarest_share(self, parameters: Mapping[str, Any]) -> float:
        """Return about what share of transactions is of the rarest type that has response times of its own."""
        del parameters
        return 1.0

    # --- what a design varies -----------------------------------------------------------------------------------

    def scale(self, parameters: Mapping[str, Any]) -> int | None:
        """Return the factor that sizes the data set; None for a tool that has no such factor."""
        del parameters
        return None

    def at_scale(self, parameters: Mapping[str, Any], scale: int) -> Mapping[str, Any]:
        """Return the parameters with another scale; unchanged for a tool that has none."""
        del scale
        return parameters

    def rate_tps(self, parameters: Mapping[str, Any]) -> float:
        """Return the rate at which transactions are offered; 0 where they run as fast as they can."""
        del parameters
        return 0

    def planned_segments(self, parameters: Mapping[str, Any]) -> Sequence[PlannedSegment]:
        """Return the rates that follow on each other within a run; empty for a load that stays the same."""
        del parameters
        return ()

    def times_statements(self, parameters: Mapping[str, Any]) -> bool:
        """Tell whether the load generator prints how long each statement took."""
        del parameters
        return False

    def statement_latencies(self, stdout: str) -> Sequence[StatementLatency]:
        """Return how long each statement took, in the order of the scripts; empty where none was timed."""
        del stdout
        return ()

    def at_first_segment(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters of a load that stays as it begins; unchanged where there are no segments."""
        return parameters

    def at_rate(self, parameters: Mapping[str, Any], rate_tps: int, latency_limit_ms: float) -> Mapping[str, Any]:
        """Return the parameters with transactions offered at a rate. Raises ValueError where `takes_rate` is false."""
        del parameters, latency_limit_ms
        raise ValueError(f"{self.name} takes no rate: {rate_tps:,} TPS cannot be offered.")

    # --- a run --------------------------------------------------------------------------------------------------

    @abstractmethod
    def load_command(self, spec: RunSpec) -> str:
        """Return the command that makes the data set, replacing an older one."""

    @abstractmethod
    def verify_command(self, spec: RunSpec) -> str:
        """Return the command that exits non-zero, with a sentence on stderr, unless the data set is there."""

    def warmup_command(self, spec: RunSpec) -> str:
        """Return the command that runs the load for `warmup_s`; what it prints stays apart.

        Empty where the measured command begins with the warm-up and its outputs tell the two apart.
        """
        del spec
        return ""

    def scripts_command(self, spec: RunSpec) -> str:
        """Return the command that exits 3, with a sentence, where a person's own script cannot be read; "" for none."""
        del spec
        return ""

    def pilot_command(self, spec: RunSpec) -> str:
        """Return the command that chooses the share of transactions to log, where the spec has a pilot.

        It follows the command of the warm-up where there is one, as that tells the rate; otherwise the check of the
        data set, and runs the load for `pilot_s` itself. Empty where nothing is to be chosen.
        """
        del spec
        return ""

    @abstractmethod
    def measure_command(self, spec: RunSpec) -> str:
        """Return the command that runs the load for `duration_s`, and nothing else: it is what is measured."""

    def reduce_command(self, spec: RunSpec) -> str:
        """Return the command that then makes large outputs small; empty where there is nothing to do."""
        del spec
        return ""

    def throughput_command(self, spec: RunSpec) -> str:
        """Return the command that prints the throughput of what was left and reduced, for those without BenchHub.

        Empty where the load generator prints it itself.
        """
        del spec
        return ""

    @abstractmethod
    def fingerprint_query(self, parameters: Mapping[str, Any]) -> str:
        """Return SQL that gives one text which sums up what the data set contains now."""

    def age_query(self, parameters: Mapping[str, Any]) -> str:
        """Return SQL that gives the number of write transactions since the data set was loaded; empty: none tells."""
        del parameters
        return ""

    # --- what a run left ----------------------------------------------------------------------------------------

    @abstractmethod
    def parse(self, spec: RunSpec, outputs: Outputs) -> RunResult:
        """Return what an attempt measured. Outputs that make no sense are a failed result, not an error."""

    def claims(self, spec: RunSpec, outputs: Outputs) -> Mapping[str, Claim]:
        """Return what the output states of its run, by the name of the fact; nothing where it states nothing.

        `spec` is for what the output leaves open, never for what it states.
        """
        del spec, outputs
        return {}

    def stated_parameters(self, outputs: Outputs) -> Mapping[str, Any]:
        """Return the parameters of a workload as the output states them; empty where it states too little for one."""
        del outputs
        return {}

    def stated_rate(self, outputs: Outputs) -> StatedRate | None:
        """Return what the output states of the rate at which it was offered transactions; None without a rate."""
        del outputs
        return None

    def stated_duration_s(self, text: str) -> int | None:
        """Return how long a run lasted that ended with its transactions; None where its text does not say it."""
        del text
        return None

    def facts(self, spec: RunSpec, *, is_own: bool) -> Mapping[str, Fact]:
        """Return the same facts as they were asked for. `is_own`: the command line was the tool's own."""
        del spec, is_own
        return {}

    def contradictions(
        self, spec: RunSpec, outputs: Outputs, *, server_version: str = "", is_own: bool = True
    ) -> tuple[Contradiction, ...]:
        """Return where the output states that it is of another run, or of another server where its version is given."""
        server = {SERVER_VERSION: Fact(server_version, server_version)} if server_version else {}
        return contradictions(self.claims(spec, outputs), {**self.facts(spec, is_own=is_own), **server})

    def judged(self, spec: RunSpec, outputs: Outputs, server_version: str) -> RunResult:
        """Return what `parse` returns, with a doubt for each contradiction of a measured run.

        Both take as long as the outputs are large: call it where a target's outputs are read, with limits.
        """
        result = self.parse(spec, outputs)
        if result.outcome == "failed" or spec.kind == "load":
            return result
        rows = self.contradictions(spec, outputs, server_version=server_version)
        return replace(result, doubts=(*result.doubts, *(Doubt(row.code, row.text) for row in rows)))

    def parts(self, text: str) -> Sequence[Part]:
        """Return the text of each run that a text holds; one alone for a tool that does not tell them apart."""
        return (Part(1, text),)

    def expectation(self, parameters: Mapping[str, Any]) -> Expectation:
        """Return what the numbers of a run must agree with."""
        del parameters
        return Expectation()

    def rate_steps(self, measures: Mapping[str, float], duration_s: float | None, is_sampled: bool) -> Sequence[str]:
        """Explain how the throughput was computed from the other measures, as sentences.

        `is_sampled`: only a share of the transactions was logged. Empty where the load generator prints its rate.
        """
        del measures, duration_s, is_sampled
        return ()
