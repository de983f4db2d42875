"""Plans that recur: when their time has come, they are queued again, each time as an experiment of its own.

Any number of workers may try at once: the rule's row is locked, and its next time is written with the experiment.
"""

from __future__ import annotations

import logging
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from benchhub.analysis.planning.recurring import next_time
from benchhub.bench.models import Experiment, Recurrence
from benchhub.bench.plan import plan, preview
from benchhub.bench.queue import exclusive, permits
from benchhub.bench.queue.queue import AWAY

logger = logging.getLogger(__name__)


def queue_due() -> int:
    """Queue every plan whose time has come; returns how many. One that fails is paused, and holds up no other."""
    keys = list(Recurrence.objects.due().values_list("pk", flat=True))
    return sum(_queue_or_pause(key) for key in keys)


def _queue_or_pause(key: int) -> int:
    try:
        return _queue(key)
    except AWAY:
        raise
    except Exception as error:
        logger.exception("A recurring plan could not be queued: recurrence %s", key)
        Recurrence.objects.get(pk=key).pause(f"BenchHub could not queue it: {error!r}. To let it try again, resume it.")
        return 0


@transaction.atomic
def _queue(key: int) -> int:
    """Queue the plan, skip this time or pause the rule, unless another worker has it; returns 1 if it was queued."""
    due = Recurrence.objects.due().select_for_update(skip_locked=True, of=("self",))
    recurrence = due.select_related("plan__workload", "created_by").filter(pk=key).first()
    if recurrence is None:
        return 0
    if reason := _refusal(recurrence):
        recurrence.pause(reason)
        return 0
    earlier = _unfinished(recurrence)
    if earlier:
        recurrence.skip(earlier)
    else:
        plan.again(recurrence.plan, recurrence.created_by, occasion_of=recurrence)
    recurrence.next_at = next_time(recurrence.rule, recurrence.now)
    recurrence.save(update_fields=["next_at", "skips"])
    return int(earlier is None)


def _refusal(recurrence: Recurrence) -> str:
    """Say why nothing may be queued any more in the name of who made the rule; empty if it may."""
    user = recurrence.created_by
    if user is None or not user.is_active:
        return "The account that made the rule is not active any more: save the rule again under your own."
    pairs = recurrence.plan.systems.values_list("driver", "instance__host")
    if sentence := permits.refusal(user, [host for pair in pairs for host in pair]):
        return f"{user} may not run it any more. {sentence}"
    return preview.again_refusal([recurrence.plan], exclusive.family(recurrence.plan))


def _unfinished(recurrence: Recurrence) -> Experiment | None:
    """Return an experiment of the rule, or its plan itself, that has not ended."""
    experiments = Experiment.objects.filter(Q(pk=recurrence.plan_id) | Q(occasion_of=recurrence))
    return experiments.left().order_by("-pk").first()


@transaction.atomic
def save_rule(experiment: Experiment, user: Any, **rule: Any) -> Recurrence:
    """Save the rule by which the experiment recurs from now on, in the user's name; one that was paused goes on."""
    values = {**rule, "created_by": user}
    recurrence, _ = Recurrence.objects.update_or_create(plan=experiment, defaults=values)
    go_on(recurrence)
    recurrence.refresh_from_db()
    return recurrence


@transaction.atomic
def go_on(recurrence: Recurrence) -> None:
    """Resume it with its next time from now on. Raises OverlapError where others have its hosts to themselves then."""
    if recurrence.plan.is_exclusive:
        exclusive.claim(recurrence.plan)
    recurrence.resume(next_time(recurrence.rule, timezone.now()))
