"""What an experiment asked for beside levels and durations, in sentences: it decides what its numbers mean."""

from __future__ import annotations

from collections.abc import Iterator

from benchhub.analysis.words import duration
from benchhub.bench.models import Experiment


def sentences(of: Experiment) -> list[str]:
    """None for a plan that leaves everything at its default."""
    return [*_before_all(of), *_before_each(of), *_order(of), *_threads(of), *_conditions(of)]


def _before_all(of: Experiment) -> Iterator[str]:
    if of.warmup_run_s:
        clients = f"{of.warmup_run_clients:,} client{'s' if of.warmup_run_clients > 1 else ''}"
        yield f"Each system is warmed up first by a run of {duration(of.warmup_run_s)} with {clients}."


def _before_each(of: Experiment) -> Iterator[str]:
    steps = {
        "the data set is loaded anew": of.loading == Experiment.Loading.EACH,
        "the tables are vacuumed": of.vacuum,
        "a checkpoint is made": of.checkpoint,
        "the server is restarted": of.restart,
        "the host's page cache is dropped": of.drop_caches,
        f"all rests for {duration(of.settle_s)} to settle": bool(of.settle_s),
    }
    if done := [step for step, is_asked in steps.items() if is_asked]:
        yield f"Before each run {', '.join(done)}."


def _order(of: Experiment) -> Iterator[str]:
    if of.order == Experiment.Order.LISTED and not of.grows:
        yield "The runs come as listed: system by system, level by level."


def _threads(of: Experiment) -> Iterator[str]:
    if of.thread_rule != "clients":
        yield f"Threads of the load generator: {of.thread_rule}."


def _conditions(of: Experiment) -> Iterator[str]:
    for word, rules in (("Only these runs", of.kept_only), ("Without these runs", of.left_out)):
        if rules:
            yield f"{word}: {' or '.join(rules)}."
