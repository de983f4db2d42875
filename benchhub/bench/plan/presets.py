"""Designs that carry out the methods of published reports, each with its translation to today's versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchhub.bench.models import Experiment
from benchhub.catalog.models import Workload
from runners import tools
from runners.tools.kinds import PublishedWorkload

from .fields import designs


@dataclass(frozen=True, slots=True)
class Translated:
    """A step of the report's method, and the step that replaces it here."""

    published: str
    here: str


@dataclass(frozen=True, slots=True)
class Preset:
    """`values` are those of the plan's form; `counted` says what the method comes to on the report's own systems."""

    name: str
    title: str
    document: str
    counted: str
    values: Mapping[str, Any]
    translation: Sequence[Translated]
    systems: int = 1
    remark: str = ""

    @property
    def workloads(self) -> list[Workload]:
        """Return the plan's workloads in their order: from the catalogue if it has them, else new and not saved."""
        return [
            catalogued(tool, workload)
            or Workload(name=workload.name, tool=tool, parameters=dict(workload.parameters), remark="Of a preset.")
            for tool, workload in self.published()
        ]

    def published(self) -> list[tuple[str, PublishedWorkload]]:
        """Return (load generator, workload) for each that the report ran."""
        by_tool = ((tool.name, tool.published.get(self.name, ())) for tool in tools.TOOLS.values())
        return [(name, workload) for name, workloads in by_tool for workload in workloads]


def catalogued(tool: str, workload: PublishedWorkload) -> Workload | None:
    """Return the catalogue's workload that does the same, if there is one."""
    return Workload.objects.current().filter(tool=tool, parameters=dict(workload.parameters)).first()


REPORT_A = Preset(
    name="report-a",
    title="PostgresPURE on IBM Power S822L (report A)",
    document="Splendid Data PostgresPURE on IBM Power Systems S822L",
    counted=(
        "On two systems: 2 systems x 4 scales x 2 ratios x 80 levels = 1,280 runs of 5 minutes, 6,400 minutes of load."
    ),
    systems=2,
    values={
        "name": "The method of report A",
        "levels": "2..160:2",
        "scales": "100, 300, 1000, 3000",
        "thread_rule": "clients/2, clients",
        "repeats": 1,
        "duration_s": 300,
        "warmup_s": 0,
        "rest_s": 0,
        "order": Experiment.Order.LISTED,
    },
    translation=[
        Translated(
            "Clients 2 to 160 by 2, as printed. Three of its 2:1 peaks lie beyond: 244, 260 and 292 clients",
            "2..160:2 as printed. Inferred, not printed: all sixteen 2:1 peaks are multiples of 4, so that part was "
            "probably 4..320:4, with threads of 2 to 160. Plan it apart with these levels to reach its peaks.",
        ),
        Translated("pgbench -S -T 300", "-b select-only -T 300: the same script under its newer name."),
        Translated("Client:thread ratios of 2:1 and 1:1", "Threads by the rules clients/2 and clients, a part each."),
        Translated("Builds 9.4.4 and 9.5 beta 1", "Two systems of your choice: their builds are what is compared."),
        Translated(
            "50 GB of tmpfs hold the data",
            "A configuration whose data directory lies on a RAM disk. Scale 3,000 takes about 47 GiB: see what is odd.",
        ),
        Translated(
            "TPS including and excluding the making of connections",
            "pgbench prints one TPS since 14, without the initial connection time: nearest to 'excluding'. A client of "
            "13 or older prints both, and both are kept. A workload with a connection for each transaction (-C) has "
            "connecting in its TPS; the report does not name -C, so it is a load of its own.",
        ),
        Translated(
            "Latency as clients / TPS, as pgbench 9.4 and 9.5 derive it",
            "Latency as measured for each transaction, where the log has it.",
        ),
        Translated(
            "checkpoint_completion_target 0.9, wal_buffers 16MB",
            "Both are the defaults of today at this shared_buffers.",
        ),
        Translated(
            "Order, warm-up and repeats: not said, one run each", "As listed, no warm-up, one run at each level."
        ),
        Translated("Eight server settings (section 4)", "The configuration 'Report A: PostgresPURE on S822L'."),
    ],
    remark="80 levels on 2 builds at 4 scales and 2 ratios of clients to threads. Its translation is with the presets.",
)

REPORT_B = Preset(
    name="report-b",
    title="PostgreSQL on POWER8 (report B)",
    document="SRA OSS, Inc. Japan: PostgreSQL on IBM Power Systems with POWER8",
    counted="On one system: 2 workloads x 9 levels x 5 trials = 90 runs of 5 minutes, 450 minutes of load.",
    values={
        "name": "The method of report B",
        "levels": "2, 4, 8, 16, 32, 48, 64, 80, 128",
        "scales": "1000",
        "thread_rule": "clients/2",
        "repeats": 5,
        "duration_s": 300,
        "warmup_s": 0,
        "rest_s": 60,
        "order": Experiment.Order.SHUFFLED,
        "loading": Experiment.Loading.ONCE,
        "warmup_run_s": 600,
        "warmup_run_clients": 1,
    },
    translation=[
        Translated(
            "pgbench -n -S -T 300",
            "-n -b select-only -T 300. The script that the report prints has BEGIN and END; -S sends neither.",
        ),
        Translated(r"\setrandom aid 1 :range", r"\set aid random(1, :naccounts - 10000). \setrandom is gone."),
        Translated(
            "pgbench -n -f custom.sql without -s, so that :scale was 1 and only 100,000 accounts were touched",
            "-s is given, so that all accounts of the scale are touched. That is what the text describes.",
        ),
        Translated(
            "Levels in random order, 5 trials of each",
            "Each trial goes through all levels at random, by a seed that is kept.",
        ),
        Translated(
            "One pgbench -S -T 600 to warm up", "A warm-up run of 600 s with 1 client, of each part's own script."
        ),
        Translated("60 s of rest between tests", "The same: no other run starts on the host meanwhile."),
        Translated("checkpoint_segments 16", "max_wal_size 768MB: 3 x 16 segments of 16 MB. The setting went in 9.5."),
        Translated("Six server settings (section 2.2)", "The configuration 'Report B: PostgreSQL on POWER8'."),
        Translated(
            "Mean, with a bar of one standard deviation each way",
            "Every run, their geometric mean with its 95% interval; mean, median and deviation in the table's file.",
        ),
    ],
    remark="9 levels, 5 trials each at random after a warm-up of 10 minutes. Its translation is with the presets.",
)

PRESETS = {preset.name: preset for preset in (REPORT_A, REPORT_B)}


def prepared(preset: Preset) -> None:
    """Make the workloads that the preset chooses where the catalogue has none like them."""
    for workload in preset.workloads:
        designs.saved_workload(workload)


def initial(preset: Preset) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the values of the plan's form, and of its systems, to start from; its workloads are made if missing."""
    prepared(preset)
    keys = [workload.pk for workload in preset.workloads if workload.pk]
    values = {**preset.values, "remark": preset.remark, "preset": preset.name}
    if keys:
        values |= {"workload": keys[0], "more_workloads": keys[1:]}
    return values, [{} for _ in range(preset.systems)]
