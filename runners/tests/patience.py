"""The limits within which a target answers, as wide as the tests' own: a busy machine passes those of production."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

# Of a busy machine: who waits so long ends at once when it has happened.
PATIENCE_S = 120
# Long enough for a load to connect and to end transactions there.
LOAD_S = 5
# A load of a data set that lasts until its test has done with it.
LONG = {"script": "custom", "scale": 1, "scripts": [{"text": "SELECT 1;"}], "init": "SELECT pg_sleep(600)"}
SCRIPTS = Path(__file__).parent.parent / "target"
LIMITS = {
    "runners.ssh": ("CONNECT_TIMEOUT_S", "KEEPALIVE_INTERVAL_S"),
    "runners.frame": ("BEGIN_TIMEOUT_S",),
    "runners.job": ("EXEC_TIMEOUT_S", "SUMMING_UP_S"),
    "runners.probe": ("PROBE_TIMEOUT_S",),
    "runners.observer": ("TIMEOUT_S",),
    "runners.builds.tags": ("TIMEOUT_S",),
    "runners.counters.snapshot": ("SNAPSHOT_TIMEOUT_S",),
    "runners.inspection.look": ("TIMEOUT_S",),
    "runners.poolers.script": ("ANSWER_S",),
    "runners.tools.shell": ("CONNECT_TIMEOUT_S",),
    "runners.server_settings.put_back": ("TIMEOUT_S",),
}
# The same in what a target carries out; how long a start waits for the host is no such limit, as it tells of BUSY.
TEXTS = {
    "start.sh": {"flock -w 20 6": "flock -w 100 6", "timeout -k 1 10 ": "timeout -k 1 100 "},
    "cancel.sh": {"flock -w 30 6": "flock -w 100 6", "-lt 50 ]": "-lt 1000 ]", "KILL 50": "KILL 1000"},
    "processes.sh": {"-lt 20 ]": "-lt 1000 ]"},
    "server_put_back.sh": {"-lt 150 ]": "-lt 1000 ]"},
    "server_mark.sh": {"timeout -k 1 5 ": "timeout -k 1 100 "},
    "server_settings.sh": {"-lt 100 ]": "-lt 1000 ]"},
}
# How often a collector is looked for: until its first line is there, and until it has ended by itself.
TRIES = {"-lt 20 ]": "-lt 1200 ]", "-lt 60 ]": "-lt 2400 ]"}


def widen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the product wait for a target as long as the tests do, for a collector too; it is not niced there."""
    for module, names in LIMITS.items():
        for name in names:
            monkeypatch.setattr(f"{module}.{name}", PATIENCE_S)
    for module in ("runners.job", "runners.server_settings.script"):
        monkeypatch.setattr(f"{module}._text", patient_text)
    collector = import_module("runners.telemetry.collector")
    monkeypatch.setattr(collector, "BEGIN", replaced(collector.BEGIN, TRIES))
    monkeypatch.setattr(collector, "NICENESS", 0)


@cache
def patient_text(name: str) -> str:
    """Return a script of runners/target whose limits are as wide."""
    return replaced((SCRIPTS / name).read_text(), TEXTS.get(name, {}))


def replaced(text: str, limits: Mapping[str, str]) -> str:
    for production, patient in limits.items():
        assert production in text
        text = text.replace(production, patient)
    return text
