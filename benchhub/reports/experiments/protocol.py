"""The conditions of an experiment beside levels and durations, in sentences: they decide what its numbers mean."""

from __future__ import annotations

from collections.abc import Iterator

from benchhub.analysis.words import count, duration
from benchhub.bench.models import Experiment


def sentences(experiment: Experiment) -> list[str]:
    """Say what a plan asks for beyond the defaults; empty for a plan that leaves everything at its default."""
    return [
        *_before_all(experiment),
        *_before_each(experiment),
        *_beside(experiment),
        *_order(experiment),
        *_threads(experiment),
        *_conditions(experiment),
    ]


def _before_all(experiment: Experiment) -> Iterator[str]:
    if experiment.warmup_run_s:
        clients = count(experiment.warmup_run_clients, "client")
        yield f"Each system is warmed up first by a run of {duration(experiment.warmup_run_s)} with {clients}."


def _before_each(experiment: Experiment) -> Iterator[str]:
    is_asked_by_step = {
        "the data set is loaded anew": experiment.loading == Experiment.Loading.EACH,
        "the tables are vacuumed": experiment.vacuum,
        "a checkpoint is made": experiment.checkpoint,
        "the server is restarted": experiment.restart,
        "the host's page cache is dropped": experiment.drop_caches,
        f"all rests for {duration(experiment.settle_s)} to settle": bool(experiment.settle_s),
    }
    if steps := [step for step, is_asked in is_asked_by_step.items() if is_asked]:
        yield f"Before each run {', '.join(steps)}."
    if experiment.no_copies and experiment.loading == Experiment.Loading.EACH:
        yield "No data set is restored by a copy of its files."


def _beside(experiment: Experiment) -> Iterator[str]:
    if experiment.telemetry:
        yield "Machine and server are observed once a second beside the load."


def _order(experiment: Experiment) -> Iterator[str]:
    if experiment.order == Experiment.Order.LISTED and not experiment.grows:
        yield "The runs come as listed: system by system, level by level."


def _threads(experiment: Experiment) -> Iterator[str]:
    if experiment.thread_rule != "clients":
        yield f"Threads of the load generator: {experiment.thread_rule}."


def _conditions(experiment: Experiment) -> Iterator[str]:
    for word, rules in (("Only these runs", experiment.kept_only), ("Without these runs", experiment.left_out)):
        if rules:
            yield f"{word}: {' or '.join(rules)}."
