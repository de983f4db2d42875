"""The vitals as Prometheus reads them: text format 0.0.4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchhub.bench.models.states import State

from .vitals import Vitals

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
QUANTILES = (0.5, 0.95, 1.0)
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def text(vitals: Vitals | None, broker_depth: int | None) -> str:
    """Return all metrics, one block each; without a warehouse only that it is down, and the broker's."""
    blocks = [
        _block("benchhub_warehouse_up", "gauge", "Whether the warehouse answers.", {"": float(vitals is not None)}),
        _block("benchhub_broker_up", "gauge", "Whether the broker answers.", {"": float(broker_depth is not None)}),
    ]
    if broker_depth is not None:
        blocks.append(_block("benchhub_broker_messages", "gauge", "Messages waiting for a worker.", {"": broker_depth}))
    return "".join([*blocks, *(_blocks(vitals) if vitals else ())])


def _blocks(vitals: Vitals) -> Iterator[str]:
    yield _block("benchhub_runs", "gauge", "Runs by state.", _labelled("state", vitals.runs))
    yield _block("benchhub_queue_depth", "gauge", "Runs that wait in the queue.", {"": vitals.runs[State.QUEUED]})
    yield _block("benchhub_runs_overdue", "gauge", "Runs that should have ended long ago.", {"": vitals.overdue})
    yield _block("benchhub_runs_stuck", "gauge", "Runs under way that no worker looks at.", {"": vitals.stuck})
    yield _block("benchhub_hosts", "gauge", "Hosts by trust in their key.", _labelled("trust", vitals.hosts))
    yield _block("benchhub_hosts_unreachable", "gauge", "Hosts that could not be reached.", {"": vitals.unreachable})
    yield _block("benchhub_workers", "gauge", "Workers that have ticked lately.", {"": vitals.workers_alive})
    if vitals.tick_lag_s is not None:
        yield _block("benchhub_tick_lag_seconds", "gauge", "Age of the last tick.", {"": vitals.tick_lag_s})
    errors = _labelled("worker", vitals.ssh_errors)
    yield _block("benchhub_ssh_errors_total", "counter", "Steps that failed at a host, by worker process.", errors)
    if vitals.contact_ages_s:
        ages = {f'{{quantile="{q:g}"}}': _quantile(vitals.contact_ages_s, q) for q in QUANTILES}
        yield _block("benchhub_contact_age_seconds", "gauge", "Age of the last contact of runs under way.", ages)


def _quantile(ascending: tuple[float, ...], share: float) -> float:
    """Return the smallest value that at least this share does not exceed."""
    return ascending[max(0, -(-int(share * 1000) * len(ascending) // 1000) - 1)]


def _labelled(label: str, values: Mapping[str, float]) -> dict[str, float]:
    return {f'{{{label}="{name.translate(ESCAPES)}"}}': value for name, value in values.items()}


def _block(name: str, kind: str, meaning: str, values: Mapping[str, float]) -> str:
    lines = [f"{name}{labels} {value:g}\n" for labels, value in values.items()]
    return f"# HELP {name} {meaning}\n# TYPE {name} {kind}\n{''.join(lines)}"
