"""Which experiment an instance's data set belongs to: taken with its first run, given up at its end.

One that is paused keeps it until another, that needs other data, begins there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from benchhub.bench.models import Experiment, ExperimentSystem, Run, Tenancy
from benchhub.bench.models.states import ACTIVE

from . import gates

LOCK = 4_846_214_912  # one experiment begins at a time; any number that nothing else locks


def end() -> None:
    """Give up the instances of experiments that have ended, or of which nothing has begun after all."""
    runs = Run.objects.filter(experiment=OuterRef("experiment"))
    has_begun = Exists(runs.filter(Q(state__in=ACTIVE) | Q(started_at__isnull=False)))
    is_growing = Q(experiment__in=Experiment.objects.growing().values("pk"))
    Tenancy.objects.exclude(has_begun & (Exists(runs.unfinished()) | is_growing)).delete()


def take(runs: Sequence[Run]) -> list[Run]:
    """Make all instances of the runs' experiments their own; return the runs whose experiment has its own by then.

    The caller's transaction holds it. Those that they may come between lose theirs: their data are loaded anew.
    """
    experiments = {run.experiment_id for run in runs}
    owning = _owning(experiments)
    if experiments - owning:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        owning = _owning(experiments)  # read again under the lock
        instances = instances_of(experiments - owning)
        for beginning in _apart([run for run in runs if run.experiment_id not in owning], instances):
            owning |= _begin(beginning, instances)
    return [run for run in runs if run.experiment_id in owning]


def instances_of(experiments: Iterable[int]) -> dict[int, list[int]]:
    """Return the instances by experiment."""
    rows = ExperimentSystem.objects.filter(experiment__in=experiments).order_by("experiment", "system__instance")
    instances: dict[int, list[int]] = {}
    for experiment, instance in rows.values_list("experiment", "system__instance").distinct():
        instances.setdefault(experiment, []).append(instance)
    return instances


def _owning(experiments: Collection[int]) -> set[int]:
    return set(Tenancy.objects.filter(experiment__in=experiments).values_list("experiment", flat=True))


def _apart(runs: Sequence[Run], instances: Mapping[int, Sequence[int]]) -> Iterator[list[Run]]:
    """Yield the runs in groups whose experiments have no instance in common: who has waits until the other has begun.

    The order of the runs holds: an experiment is in no group before one with which it has an instance in common.
    """
    rest = list(runs)
    while rest:
        owners: dict[int, int] = {}
        group: list[Run] = []
        later: list[Run] = []
        for run in rest:
            own = instances.get(run.experiment_id, ())
            tenants = {owners.setdefault(instance, run.experiment_id) for instance in own}
            (group if tenants <= {run.experiment_id} else later).append(run)
        yield group
        rest = later


def _begin(runs: Sequence[Run], instances: Mapping[int, Sequence[int]]) -> set[int]:
    """Let the experiments begin that no other keeps from it, all at once; returns their keys."""
    occupied = gates.taken_keys([run.pk for run in runs])
    experiments = {run.experiment_id: run.experiment for run in runs if run.pk not in occupied}
    owners = {instance: experiment for key, experiment in experiments.items() for instance in instances.get(key, ())}
    _disturb(owners)
    Tenancy.objects.bulk_create(
        Tenancy(instance_id=instance, experiment=experiment) for instance, experiment in owners.items()
    )
    return set(experiments)


def _disturb(owners: Mapping[int, Experiment]) -> None:
    """Give up the tenancies whose data these experiments, by instance, are going to change; who shares it stays."""
    each, loads = Experiment.Loading.EACH, Run.objects.queued().filter(kind=Run.Kind.LOAD)
    loading = set(loads.filter(experiment__in=owners.values()).values_list("experiment", flat=True))
    others = Tenancy.objects.filter(instance__in=owners).select_related("experiment")
    disturbed = [
        tenancy.pk
        for tenancy, owner in ((tenancy, owners[tenancy.instance_id]) for tenancy in others)
        if each in (owner.loading, tenancy.experiment.loading)
        or owner.pk in loading
        or tenancy.experiment.recipe_digest != owner.recipe_digest
    ]
    if disturbed:
        Tenancy.objects.filter(pk__in=disturbed).delete()
