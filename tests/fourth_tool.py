"""A load generator in one module, shaped like its neighbours: psql, which counts rows again and again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runners.contract import Measure, Outputs, RunResult, RunSpec, Series
from runners.tools.base import Tool
from runners.tools.kinds import Choice, Description, Kind, WholeNumber, chosen_from
from runners.tools.printed import main_errors, text_of
from runners.tools.shell import psql, verified

PARSER = "counting/1"
BYTES_PER_ROW = 36
REPORT = re.compile(r"^(\d+) queries in (\d+) s$", re.MULTILINE)
KIND = Kind(
    name="counting",
    title="Counting",
    fields=(
        WholeNumber(name="rows", unit="rows", lowest=1, highest=1_000_000, default=1_000),
        Choice(name="order", choices=chosen_from(("forward", "backward"))),
    ),
    refused_at="rows",
    to_parameters=lambda values, before: {**before, **values},
)


class Counting(Tool):
    name = "counting"
    program = "psql"
    unit = "QPS"
    parser = PARSER
    kinds = (KIND,)
    load_parameter = "order"
    size_parameter = "rows"
    loads = ("forward", "backward")

    def describe(self, parameters: Mapping[str, Any]) -> Description:
        return Description(load=parameters["order"], size=f"{parameters['rows']:,} counted rows")

    def check(self, spec: RunSpec) -> None:
        if spec.clients > 4:
            raise ValueError("Counting is done by at most 4 clients: choose fewer.")

    def data_set(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"tool": self.name, "rows": parameters["rows"]}

    def data_set_bytes(self, parameters: Mapping[str, Any]) -> int:
        return int(parameters["rows"]) * BYTES_PER_ROW

    def writes(self, parameters: Mapping[str, Any]) -> bool:
        del parameters
        return False

    def load_guess_s(self, parameters: Mapping[str, Any]) -> float:
        del parameters
        return 1.0

    def tps_guess(self, parameters: Mapping[str, Any]) -> float:
        del parameters
        return 1_000.0

    def load_command(self, spec: RunSpec) -> str:
        rows = spec.parameters["rows"]
        statement = "DROP TABLE IF EXISTS counted; CREATE TABLE counted AS SELECT * FROM generate_series(1, {}) AS n"
        return psql(spec, statement.format(rows)) + "\n"

    def verify_command(self, spec: RunSpec) -> str:
        return verified(spec, self.name, "SELECT count(*) FROM counted", str(spec.parameters["rows"]))

    def measure_command(self, spec: RunSpec) -> str:
        query = psql(spec, f"SELECT count(*) FROM counted -- {spec.parameters['order']}")
        return f"""\
date +%s > started_epoch
count_rows() {{
    queries=0
    while {query} > /dev/null || exit 1; queries=$((queries + 1)); [ "$(date +%s)" -lt "$1" ]; do :; done
    echo "$queries queries in {spec.duration_s} s"
}}
until=$(($(date +%s) + {spec.duration_s}))
client=1
while [ "$client" -lt {spec.clients} ]; do count_rows "$until" & client=$((client + 1)); done
count_rows "$until"
wait
"""

    def fingerprint_query(self, parameters: Mapping[str, Any]) -> str:
        del parameters
        return "SELECT md5(count(*)::text) FROM counted"

    def parse(self, spec: RunSpec, outputs: Outputs) -> RunResult:
        if outputs.returncode:
            return RunResult("failed", main_errors(text_of(outputs.stderr)) or "It said nothing about it.", PARSER)
        if spec.kind == "load":
            return RunResult("succeeded", "", PARSER)
        reports = REPORT.findall(text_of(outputs.stdout))
        if len(reports) != spec.clients:
            return RunResult("failed", f"{len(reports)} of {spec.clients} clients reported.", PARSER)
        rate = sum(int(queries) / int(seconds) for queries, seconds in reports)
        started = float(outputs.files.get("started_epoch", b"0").strip() or 0)
        series = Series("qps", self.unit, started, 1.0, tuple([rate] * spec.duration_s))
        return RunResult("succeeded", "", PARSER, {"qps": Measure(rate, self.unit)}, (series,))
