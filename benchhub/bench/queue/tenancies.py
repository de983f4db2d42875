"""Which experiment an instance's data set belongs to: taken with its first run, given up at its end.

One that is paused keeps it until another, that needs other data, begins there.
"""

from __future__ import annotations

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from benchhub.bench.models import Experiment, Run, Tenancy
from benchhub.bench.models.states import ACTIVE
from benchhub.catalog.models import Instance

from . import gates

LOCK = 4_846_214_912  # one experiment begins at a time; any number that nothing else locks


def end() -> None:
    """Give up the instances of experiments that have ended, or of which nothing has begun after all."""
    runs = Run.objects.filter(experiment=OuterRef("experiment"))
    has_begun = Exists(runs.filter(Q(state__in=ACTIVE) | Q(started_at__isnull=False)))
    is_growing = Q(experiment__in=Experiment.objects.growing().values("pk"))
    Tenancy.objects.exclude(has_begun & (Exists(runs.unfinished()) | is_growing)).delete()


def take(run: Run) -> bool:
    """Make all instances of the run's experiment its own; False where another has just begun on one of them.

    The caller's transaction holds it. Those that it may come between lose theirs: their data are loaded anew.
    """
    experiment = run.experiment
    if Tenancy.objects.filter(experiment=experiment).exists():
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    if gates.is_taken(run):
        return False
    instances = list(Instance.objects.filter(system__experimentsystem__experiment=experiment).distinct())
    _disturbed(experiment).filter(instance__in=instances).delete()
    Tenancy.objects.bulk_create(Tenancy(instance=instance, experiment=experiment) for instance in instances)
    return True


def _disturbed(experiment: Experiment) -> QuerySet[Tenancy]:
    """Return the tenancies whose data the experiment is going to change; those that share its data stay."""
    each, others = Experiment.Loading.EACH, Tenancy.objects.exclude(experiment=experiment)
    if experiment.loading == each or experiment.runs.queued().filter(kind=Run.Kind.LOAD).exists():
        return others
    return others.filter(~Q(experiment__recipe_digest=experiment.recipe_digest) | Q(experiment__loading=each))
