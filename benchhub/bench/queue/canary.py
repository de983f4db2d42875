"""The canary of an experiment: its lowest and highest level come first, and say whether the rest is worth the time."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from benchhub.analysis.doubts.idle_host import BUSY_AT_A_GLANCE_PERCENT, BUSY_PERCENT, busy_percent
from benchhub.bench.models import Attempt, Evidence, Experiment, Run
from benchhub.bench.models.states import State

IDLE_FILE = "idle.txt"
HOSTS = ("system__driver", "system__instance__host")


def ended() -> QuerySet[Experiment]:
    """Return the experiments whose canary has ended and waits for its verdict."""
    canaries = Run.objects.filter(experiment=OuterRef("pk"), is_canary=True)
    return Experiment.objects.filter(~Exists(canaries.unfinished()), canary=Experiment.Canary.WAITS, paused_at=None)


def judge(experiment: Experiment) -> None:
    """Release the rest of the experiment where its canary has ended well; pause it, with the reason, where not."""
    reasons = verdict(list(experiment.runs.filter(is_canary=True).select_related(*HOSTS)))
    waiting = Experiment.objects.filter(pk=experiment.pk, canary=Experiment.Canary.WAITS)
    if not reasons:
        waiting.update(canary=Experiment.Canary.PASSED)
        return
    reason = f"Its canary failed. {' '.join(reasons)} To go on all the same, resume it."
    waiting.update(canary=Experiment.Canary.FAILED, paused_at=Now(), pause_reason=reason)


def verdict(runs: list[Run]) -> list[str]:
    """Say why the rest should not be run, as sentences; empty where all is well."""
    failures = [run for run in runs if run.state != State.SUCCEEDED]
    return [f"Run {run.pk} ({run}) {run.get_state_display()}: {run.reason}".strip() for run in failures] + _busy(runs)


def _busy(runs: list[Run]) -> list[str]:
    """Say which hosts were busy before a load started there, as sentences."""
    newest = Attempt.objects.filter(run__in=runs).order_by("run", "-number").distinct("run")
    attempts = {attempt.run_id: attempt for attempt in newest}
    files = Evidence.objects.filter(attempt__in=attempts.values(), name=IDLE_FILE)
    lines = {file.attempt_id: file.text.splitlines() for file in files}
    pairs = [(run, attempts[run.pk]) for run in runs if run.pk in attempts]
    sentences = [(_driver_busy(run, lines.get(attempt.pk, [])), _server_busy(run, attempt)) for run, attempt in pairs]
    return [sentence for pair in sentences for sentence in pair if sentence]


def _driver_busy(run: Run, lines: list[str]) -> str:
    percent = busy_percent(lines[0], lines[1]) if len(lines) == 2 else None
    if percent is None or percent <= BUSY_PERCENT:
        return ""
    return f"Before run {run.pk} {percent:.0f}% of the CPU of {run.system.driver} was busy with other work."


def _server_busy(run: Run, attempt: Attempt) -> str:
    """Say that the server's own host was busy at the glance before the start; empty if not.

    Its load average is no sign: it remembers what ran before.
    """
    share = (attempt.host_before or {}).get("busy_before_share")
    if run.system.driven_locally or share is None or 100 * share <= BUSY_AT_A_GLANCE_PERCENT:
        return ""
    return f"Before run {run.pk} {share:.0%} of the CPU of {run.system.instance.host} was busy with other work."
