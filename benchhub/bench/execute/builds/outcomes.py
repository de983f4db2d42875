"""What visits to builds saw, as it is written down: the log as it grows, the end, and what a host then has."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from benchhub.bench.models import Hold
from benchhub.catalog.models import SourceBuild, SourceBuildLog
from runners.builds.work import EMPTY_LOG, Outcome

from .steps import Answer, Done, Ended, Goes, Resolved, Started, Waits

State = SourceBuild.State
LONGEST_TAIL = 256 << 10
SAME_COMMIT = "{} is commit {}, of which this host has a build with these options already. That one {}."
STATE_TEXTS = {
    State.WAITING: "waits for its turn",
    State.BUILDING: "is being built",
    State.BUILT: "is built: use it",
    State.REMOVING: "is being removed: ask again when it is gone",
    State.FAILED: "failed, and is built anew now",
    State.CANCELLED: "was cancelled, and is built anew now",
    State.REMOVED: "was removed, and is built anew now",
}
WAITS = "Another job still runs on the host: it begins when that has ended."


@transaction.atomic
def store(
    build: SourceBuild, claimed: QuerySet[SourceBuild], answer: Answer, look_after: timedelta, busy_for: timedelta
) -> None:
    """Write the answer of a visit down, unless the claim on the build is no longer the newest."""
    match answer:
        case Resolved():
            _store_commit(build, claimed, answer)
        case Started():
            claimed.update(started_at=Now(), visit_until=None, contact_error="")
        case Waits():
            if claimed.update(state=State.WAITING, visit_until=Now() + busy_for, contact_error=WAITS):
                Hold.objects.filter(build=build).delete()
        case Goes():
            claimed.update(visit_until=Now() + look_after, contact_error="", **_progress(build, answer))
        case Ended():
            _store_end(build, claimed, answer)
        case Done():
            _store_removal(build, claimed)


def _store_commit(build: SourceBuild, claimed: QuerySet[SourceBuild], answer: Resolved) -> None:
    """Make it the build of that commit; an earlier one of the same stands for it, and is built anew if it is gone."""
    digest = replace(build.recipe, revision=answer.commit).digest
    source = {"revision": answer.commit, "digest": digest, "source_facts": {"tag": build.revision}}
    try:
        with transaction.atomic():
            claimed.update(**source, visit_until=None, contact_error="")
    except IntegrityError:
        _yield_to(SourceBuild.objects.select_for_update().get(host=build.host_id, digest=digest), build, claimed)


def _yield_to(earlier: SourceBuild, build: SourceBuild, claimed: QuerySet[SourceBuild]) -> None:
    """End the build without a failure in favour of an earlier row of the same commit and options."""
    error = SAME_COMMIT.format(build.revision, earlier.revision[:12], STATE_TEXTS[State(earlier.state)])
    if earlier.ask():
        SourceBuild.objects.filter(pk=earlier.pk).update(jobs=build.jobs)
    _store_end(build, claimed, Ended(Outcome(EMPTY_LOG, error), is_cancelled=True))


def _progress(build: SourceBuild, answer: Goes) -> dict[str, Any]:
    fields: dict[str, Any] = {"step": answer.step, "is_suspected": answer.is_suspected}
    if answer.chunk:
        fields |= {"log_offset": answer.log_offset, "log_tail": tail(build.log_tail, answer.chunk)}
    return fields


def tail(text: str, chunk: bytes = b"") -> str:
    """Return the end of a log with what was added to it, as text that can be stored."""
    return (text + chunk.decode(errors="replace").replace("\0", ""))[-LONGEST_TAIL:]


def _store_end(build: SourceBuild, claimed: QuerySet[SourceBuild], answer: Ended) -> None:
    outcome = answer.outcome
    state = State.CANCELLED if answer.is_cancelled else State.FAILED if outcome.error else State.BUILT
    fields: dict[str, Any] = {"state": state, "error": outcome.error, "ended_at": Now(), "is_tidy": False, "step": ""}
    if outcome.facts:
        fields |= {"facts": dict(outcome.facts), "source_facts": {**build.source_facts, **(outcome.source or {})}}
    text = tail("", outcome.log.content[-LONGEST_TAIL:])
    if not claimed.update(**fields, log_tail=text, visit_until=None, contact_error="", is_cancel_asked=False):
        return
    Hold.objects.filter(build=build).delete()
    _store_log(build, outcome)
    if outcome.facts:
        build.host.remember_build(dict(outcome.facts))


def _store_log(build: SourceBuild, outcome: Outcome) -> None:
    log = outcome.log
    sizes = {"size_bytes": len(log.content), "whole_bytes": log.whole_bytes}
    digests = {"sha256": log.sha256, "whole_sha256": log.whole_sha256}
    SourceBuildLog.objects.get_or_create(
        build=build, number=build.number, defaults={"content": log.content, **sizes, **digests}
    )


def _store_removal(build: SourceBuild, claimed: QuerySet[SourceBuild]) -> None:
    """Note that the build is gone from its host; or, of one that has ended, that what its job left is."""
    if build.state != State.REMOVING:
        claimed.update(is_tidy=True, visit_until=None, contact_error="")
    elif claimed.update(state=State.REMOVED, visit_until=None, contact_error=""):
        build.host.forget_build(build.bin_directory)


@transaction.atomic
def keep(build: SourceBuild, claimed: QuerySet[SourceBuild], sentence: str) -> None:
    """Give a removal up, which a person may ask for again; its programs are offered as before."""
    if claimed.update(state=State.BUILT, visit_until=None, contact_error=sentence):
        build.host.remember_build(build.facts)
