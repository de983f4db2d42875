"""Notices to webhooks: a row in the transaction that ends the run, sent later, again and again with back-off."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from benchhub.bench.models import Experiment, Notice, Result, Run, Webhook
from benchhub.bench.models.states import FINAL
from benchhub.bench.models.webhooks import FIRST_WAIT, LEASE

from . import post

logger = logging.getLogger(__name__)
VERSION = 1
MOST_ATTEMPTS = 8  # the last one about half a day after the first
AT_ONCE = 20
# Whoever deletes a webhook waits for the transaction of the end, or was there before it; ends do not wait for ends.
ACTIVE = "SELECT * FROM bench_webhook WHERE is_active ORDER BY id FOR KEY SHARE"
Send = Callable[[str, bytes, dict[str, str]], int]


def delete_webhook(pk: int) -> None:
    """Delete a webhook and its notices, also those that ends under way are writing."""
    with transaction.atomic():
        Webhook.objects.select_for_update().filter(pk=pk).first()
        Webhook.objects.filter(pk=pk).delete()


def note_end(run: Run) -> None:
    """Write the notices of a run's end, in the transaction that ends it; ripen() looks later at the experiment."""
    note_ends([run])


def note_ends(runs: Iterable[Run]) -> None:
    """Write the notices of several ends, as `note_end` does: a statement for each webhook, not for each run."""
    webhooks = list(Webhook.objects.raw(ACTIVE))
    ended = list(runs) if webhooks else []
    for webhook in webhooks:
        if Webhook.On.RUN in webhook.events:
            Notice.objects.bulk_create(_run_notices(webhook, ended))
        if Webhook.On.EXPERIMENT in webhook.events:
            # Two transactions with the same experiments wait for each other's notices: in one order alike.
            experiments = sorted({run.experiment_id for run in ended})
            notices = [_waiting_notice(webhook, experiment) for experiment in experiments]
            Notice.objects.bulk_create(notices, ignore_conflicts=True)


def _run_notices(webhook: Webhook, runs: Sequence[Run]) -> Iterator[Notice]:
    results = Result.objects.filter(run__in=runs).in_bulk(field_name="run_id")
    for run in runs:
        payload = _run_payload(run, webhook, results.get(run.pk))
        event = Webhook.On.RUN
        yield Notice(webhook=webhook, event=event, experiment_id=run.experiment_id, run=run, payload=payload)


def _waiting_notice(webhook: Webhook, experiment: int) -> Notice:
    event, state = Webhook.On.EXPERIMENT, Notice.State.WAITS
    return Notice(webhook=webhook, event=event, experiment_id=experiment, state=state, next_at=None)


def _run_payload(run: Run, webhook: Webhook, result: Result | None) -> dict[str, Any]:
    return {
        "version": VERSION,
        "event": Webhook.On.RUN,
        "at": timezone.now().isoformat(),
        "run": {
            "id": run.pk,
            **_addresses(webhook, "run", run.pk),
            "state": run.state,
            "reason": run.reason,
            "clients": run.clients,
            "repeat": run.repeat,
            "result": _result(result),
        },
        "experiment": {"id": run.experiment_id, **_addresses(webhook, "experiment", run.experiment_id)},
    }


def _addresses(webhook: Webhook, name: str, pk: int) -> dict[str, str]:
    """Return the whole addresses of a row in the API and as a page.

    Where BenchHub is, PUBLIC_URL says, or else whoever saved the webhook had it open there.
    """
    origin = settings.PUBLIC_URL or webhook.origin
    return {"address": origin + reverse(f"api:{name}-detail", args=[pk]), "page": origin + reverse(name, args=[pk])}


def _result(result: Result | None) -> dict[str, Any] | None:
    """Return the figures of a run; None where it has none."""
    if result is None:
        return None
    names = ("throughput", "unit", "latency_average_ms", "latency_p95_ms", "latency_p99_ms")
    return {**{name: getattr(result, name) for name in names}, "doubts": [doubt["text"] for doubt in result.doubts]}


def _peaks(experiment: Experiment) -> list[dict[str, Any]]:
    """Return the best level of each system: the geometric mean of its repeats, as the page of the experiment has it."""
    labels = dict(experiment.systems.values_list("pk", "label"))
    peaks = Run.objects.peaks(Q(experiment=experiment))
    return [{**level._asdict(), "system": labels[pk]} for (_, pk), level in peaks.items()]


def ripen() -> int:
    """Make due what waited for experiments of which no run is left, nor will grow; returns how many."""
    unfinished = Run.objects.filter(experiment=OuterRef("experiment")).unfinished()
    # Between two steps of a plan that grows no run is left for a moment. It has stopped where it says why.
    has_stopped = Q(experiment__grows=Experiment.Grows.NOT) | Q(experiment__growth__stopped__gt="")
    waiting = Notice.objects.filter(~Exists(unfinished), has_stopped, state=Notice.State.WAITS)
    notices = waiting.select_related("experiment", "webhook").defer("webhook__secret")[:AT_ONCE]
    ripe = [(notice, _experiment_payload(notice.experiment, notice.webhook)) for notice in notices]
    for notice, payload in ripe:
        row = Notice.objects.filter(pk=notice.pk, state=Notice.State.WAITS)
        row.update(state=Notice.State.DUE, payload=payload, next_at=Now())
    return len(ripe)


def _experiment_payload(experiment: Experiment, webhook: Webhook) -> dict[str, Any]:
    counts = dict(experiment.runs.order_by().values_list("state").annotate(Count("pk")))
    return {
        "version": VERSION,
        "event": Webhook.On.EXPERIMENT,
        "at": timezone.now().isoformat(),
        "experiment": {
            "id": experiment.pk,
            **_addresses(webhook, "experiment", experiment.pk),
            "name": experiment.name,
            "design": experiment.design_id,
            "peaks": _peaks(experiment),
            "runs": {state: counts.get(state, 0) for state in map(str, FINAL)},
        },
    }


def is_any_due() -> bool:
    ripen()
    return Notice.objects.due().exists()


def send_due(send: Send = post.post) -> int:
    """Send what is due, each under a lease of its own, so that several workers may do this; returns how many."""
    notices = _claim()
    for notice in notices:
        _send(notice, send)
    return len(notices)


def _claim() -> list[Notice]:
    with transaction.atomic():
        due = Notice.objects.due().select_for_update(skip_locked=True, of=("self",)).select_related("webhook")
        notices = list(due.order_by("next_at")[:AT_ONCE])
        keys = [notice.pk for notice in notices]
        Notice.objects.filter(pk__in=keys).update(next_at=Now() + LEASE, attempts=F("attempts") + 1)
    for notice in notices:
        notice.attempts += 1
    return notices


def _send(notice: Notice, send: Send) -> None:
    body = json.dumps({"id": str(notice.uuid), **notice.payload}, sort_keys=True).encode()
    status, error = None, ""
    try:
        status = send(notice.webhook.url, body, headers(notice, body))
        error = "" if 200 <= status < 300 else f"It answered {status}."
    except (OSError, ValueError) as trouble:
        error = str(trouble) or type(trouble).__name__
    row = Notice.objects.filter(pk=notice.pk, attempts=notice.attempts)
    row.update(status=status, error=error[:500], **_outcome(notice, error))


def _outcome(notice: Notice, error: str) -> dict[str, Any]:
    if not error:
        return {"state": Notice.State.SENT, "sent_at": Now(), "next_at": None}
    logger.warning("Webhook %s was not told of %s: %s", notice.webhook, notice.event, error)
    if notice.attempts >= MOST_ATTEMPTS or not notice.webhook.is_active:
        return {"state": Notice.State.GIVEN_UP, "next_at": None}
    return {"next_at": Now() + wait(notice.attempts)}


def wait(attempts: int) -> timedelta:
    """Return how long to wait after so many attempts: 30 s after the first, then three times as long each time."""
    return FIRST_WAIT * int(3 ** (attempts - 1))


def headers(notice: Notice, body: bytes, at_s: int | None = None) -> dict[str, str]:
    stamp = str(int(time.time()) if at_s is None else at_s)
    return {
        "Content-Type": "application/json",
        "User-Agent": "BenchHub",
        "BenchHub-Event": notice.event,
        "BenchHub-Delivery": str(notice.uuid),
        "BenchHub-Signature": f"t={stamp},v1={signature(notice.webhook.secret, stamp, body)}",
    }


def signature(secret: str, stamp: str, body: bytes) -> str:
    """Return the HMAC-SHA256 over time stamp, a point, and the body as sent; by the stamp a replay can be told."""
    return hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
