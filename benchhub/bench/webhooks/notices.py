"""Telling webhooks of ends: a row in the transaction of the end itself, sent later, again and again with back-off."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from benchhub.bench.models import Experiment, Notice, Run, Webhook
from benchhub.bench.models.states import FINAL

from . import post

logger = logging.getLogger(__name__)
VERSION = 1
MOST_ATTEMPTS = 8  # the last one about half a day after the first
FIRST_WAIT = timedelta(seconds=30)
LEASE = timedelta(minutes=5)
AT_ONCE = 20
Send = Callable[[str, bytes, dict[str, str]], int]


def note_end(run: Run) -> None:
    """Inside the transaction that ends the run; its experiment may have ended with it, which is looked at later."""
    for webhook in Webhook.objects.filter(is_active=True):
        if Webhook.On.RUN in webhook.events:
            payload = _of_run(run)
            Notice.objects.create(
                webhook=webhook, event=Webhook.On.RUN, experiment_id=run.experiment_id, run=run, payload=payload
            )
        if Webhook.On.EXPERIMENT in webhook.events:
            waits = Notice(
                webhook=webhook,
                event=Webhook.On.EXPERIMENT,
                experiment_id=run.experiment_id,
                state=Notice.State.WAITS,
                next_at=None,
            )
            Notice.objects.bulk_create([waits], ignore_conflicts=True)


def _of_run(run: Run) -> dict[str, Any]:
    return {
        "version": VERSION,
        "event": Webhook.On.RUN,
        "at": timezone.now().isoformat(),
        "run": {
            "id": run.pk,
            "address": f"/api/v1/runs/{run.pk}/",
            "state": run.state,
            "reason": run.reason,
            "clients": run.clients,
            "repeat": run.repeat,
        },
        "experiment": {"id": run.experiment_id, "address": f"/api/v1/experiments/{run.experiment_id}/"},
    }


def ripen() -> int:
    """Make due what waited for experiments of which no run is left, nor will grow; returns how many."""
    unfinished = Run.objects.filter(experiment=OuterRef("experiment")).unfinished()
    # Between two steps of a plan that grows no run is left for a moment. It has stopped where it says why.
    has_stopped = Q(experiment__grows=Experiment.Grows.NOT) | Q(experiment__growth__stopped__gt="")
    over = Notice.objects.filter(~Exists(unfinished), has_stopped, state=Notice.State.WAITS).select_related(
        "experiment"
    )
    ripe = [(notice, _of_experiment(notice.experiment)) for notice in over[:AT_ONCE]]
    for notice, payload in ripe:
        waiting = Notice.objects.filter(pk=notice.pk, state=Notice.State.WAITS)
        waiting.update(state=Notice.State.DUE, payload=payload, next_at=Now())
    return len(ripe)


def _of_experiment(experiment: Experiment) -> dict[str, Any]:
    states = list(experiment.runs.values_list("state", flat=True))
    return {
        "version": VERSION,
        "event": Webhook.On.EXPERIMENT,
        "at": timezone.now().isoformat(),
        "experiment": {
            "id": experiment.pk,
            "address": f"/api/v1/experiments/{experiment.pk}/",
            "name": experiment.name,
            "runs": {state: states.count(state) for state in map(str, FINAL)},
        },
    }


def is_any_due() -> bool:
    ripen()
    return Notice.objects.due().exists()


def send_due(send: Send = post.post) -> int:
    """Send what is due, each under a lease of its own, so that several workers may do this; returns how many."""
    claimed = _claim()
    for notice in claimed:
        _send(notice, send)
    return len(claimed)


def _claim() -> list[Notice]:
    with transaction.atomic():
        due = Notice.objects.due().select_for_update(skip_locked=True, of=("self",)).select_related("webhook")
        rows = list(due.order_by("next_at")[:AT_ONCE])
        keys = [row.pk for row in rows]
        Notice.objects.filter(pk__in=keys).update(next_at=Now() + LEASE, attempts=F("attempts") + 1)
    for row in rows:
        row.attempts += 1
    return rows


def _send(notice: Notice, send: Send) -> None:
    body = json.dumps({"id": str(notice.uuid), **notice.payload}, sort_keys=True).encode()
    status, error = None, ""
    try:
        status = send(notice.webhook.url, body, headers(notice, body))
        error = "" if 200 <= status < 300 else f"It answered {status}."
    except (OSError, ValueError) as trouble:
        error = str(trouble) or type(trouble).__name__
    mine = Notice.objects.filter(pk=notice.pk, attempts=notice.attempts)
    mine.update(status=status, error=error[:500], **_outcome(notice, error))


def _outcome(notice: Notice, error: str) -> dict[str, Any]:
    if not error:
        return {"state": Notice.State.SENT, "sent_at": Now(), "next_at": None}
    logger.warning("Webhook %s was not told of %s: %s", notice.webhook, notice.event, error)
    if notice.attempts >= MOST_ATTEMPTS or not notice.webhook.is_active:
        return {"state": Notice.State.GIVEN_UP, "next_at": None}
    return {"next_at": Now() + wait(notice.attempts)}


def wait(attempts: int) -> timedelta:
    """30 s after the first attempt, then three times as long each time."""
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
    """HMAC-SHA256 over time stamp, a point, and the body as sent: what is replayed later can be told by the stamp."""
    return hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
