"""The limits within which a target answers, as wide as the tests' own: a busy machine passes those of production."""

from __future__ import annotations

from importlib import import_module

import pytest

# Of a busy machine: who waits so long ends at once when it has happened.
PATIENCE_S = 120
# Long enough for a load to connect and to end transactions there.
LOAD_S = 5
LIMITS = {
    "runners.ssh": ("CONNECT_TIMEOUT_S", "KEEPALIVE_INTERVAL_S"),
    "runners.frame": ("BEGIN_TIMEOUT_S",),
    "runners.job": ("EXEC_TIMEOUT_S", "SUMMING_UP_S"),
    "runners.probe": ("PROBE_TIMEOUT_S",),
    "runners.observer": ("TIMEOUT_S",),
    "runners.builds.tags": ("TIMEOUT_S",),
    "runners.counters.snapshot": ("SNAPSHOT_TIMEOUT_S",),
    "runners.inspection.look": ("TIMEOUT_S",),
    "runners.server_settings.put_back": ("TIMEOUT_S",),
}
# How often a collector is looked for: until its first line is there, and until it has ended by itself.
TRIES = (("-lt 20 ]", "-lt 1200 ]"), ("-lt 60 ]", "-lt 2400 ]"))


def widen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the product wait for a target as long as the tests do, for a collector too; it is not niced there."""
    for module, names in LIMITS.items():
        for name in names:
            monkeypatch.setattr(f"{module}.{name}", PATIENCE_S)
    collector = import_module("runners.telemetry.collector")
    text = collector.BEGIN
    for production, patient in TRIES:
        assert text.count(production) == 1
        text = text.replace(production, patient)
    monkeypatch.setattr(collector, "BEGIN", text)
    monkeypatch.setattr(collector, "NICENESS", 0)
