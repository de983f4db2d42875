"""Forms of plans as browsers send them."""

from __future__ import annotations

from . import preview as plan_preview
from .form import Draft

NEW, PLAN = "/experiments/new", "/experiments/plan"
FREE_FORM = f"{NEW}?question=free"


def form_of(workload, *instances, **fields):
    systems = {f"systems-{i}-instance": str(instance.pk) for i, instance in enumerate(instances)}
    management = {"systems-TOTAL_FORMS": str(len(instances)), "systems-INITIAL_FORMS": str(len(instances))}
    typed = {"name": "Two builds", "workload": str(workload.pk), "levels": "1, 2..8*4", "repeats": "2"}
    times = {"duration_s": "60", "warmup_s": "10", "rest_s": "0", "thread_rule": "clients"}
    return {**management, **systems, **typed, **times, **fields}


def look(form):
    draft = Draft(form, needs_name=False)
    assert draft.problems == []
    return plan_preview.look(draft.plan_request)
