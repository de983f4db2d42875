"""Gates of data sets: a server has one at a time, and it belongs to the experiment that has begun on it."""

from __future__ import annotations

from django.db.models import (
    BooleanField,
    CharField,
    Exists,
    ExpressionWrapper,
    F,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce
from django.db.models.lookups import Exact

from benchhub.bench.models import Experiment, Run, Tenancy
from benchhub.bench.models.states import ACTIVE, State
from benchhub.catalog.models import DataSet

from .exclusive import has_time_to_itself


def waits_for_preparation() -> Q:
    """Tell whether the run waits for loads and warm-ups before it or, as a load, for runs on the data it replaces."""
    # Of one instance, not of one system: two drivers of one server share its data set.
    same_instance = Q(system__instance=OuterRef("system__instance"))
    siblings = Run.objects.filter(same_instance, experiment=OuterRef("experiment")).unfinished()
    earlier, measuring = siblings.filter(position__lt=OuterRef("position")), Q(kind=Run.Kind.MEASURE)
    # The first is asked once for all runs, and mostly false: only then the database need not look run by run.
    is_unprepared = Q(Exists(siblings.exclude(measuring))) & Q(Exists(earlier.exclude(measuring)))
    return is_unprepared | Q(kind=Run.Kind.LOAD) & Q(Exists(earlier))


def waits_for_part() -> Q:
    """Tell whether an earlier part of the design has runs left on the server, as parts may need different data sets."""
    unfinished = ", ".join(f"'{state}'" for state in (State.QUEUED, *ACTIVE))
    is_later = Func(
        F("experiment_id"),
        F("system__instance_id"),
        template="((%(expressions)s) IN (SELECT later.id, earlier.instance_id FROM bench_experiment AS later JOIN "
        "(SELECT DISTINCT of.design_id, of.id, system.instance_id FROM bench_experiment AS of "
        "JOIN bench_run AS run ON run.experiment_id = of.id JOIN bench_system AS system ON system.id = run.system_id "
        f"WHERE of.design_id IS NOT NULL AND run.state IN ({unfinished})) AS earlier "
        "ON earlier.design_id = later.design_id AND earlier.id < later.id))",
        output_field=BooleanField(),
    )
    return Q(experiment__design__isnull=False) & Q(is_later)


def _other_tenancies() -> QuerySet[Tenancy]:
    """Return the tenancies, on instances of the run's experiment, of others that it may not come between."""
    policy = ExpressionWrapper(OuterRef("experiment__data_set_policy"), output_field=CharField())
    may_not_pass = Q(experiment__priority__gte=OuterRef("experiment__priority"))
    waits = Q(policy=Experiment.DataSetPolicy.WAIT)
    on_its_instances = Q(instance__system__experimentsystem__experiment=OuterRef("experiment"))
    others = Tenancy.objects.filter(on_its_instances, experiment__paused_at=None)
    others = others.exclude(experiment=OuterRef("experiment"))
    return others.annotate(policy=policy).filter(may_not_pass | waits)


def is_occupied() -> Q:
    """Tell whether another experiment has begun where the run's would load, or would need other data.

    All of its instances count, and it takes them together: so no two experiments can wait for each other. In its
    exclusive periods an experiment comes between: the others wait then, as if a person had paused them.
    """
    others, each = _other_tenancies(), Experiment.Loading.EACH
    is_same = Q(experiment__recipe_digest=OuterRef("experiment__recipe_digest"))
    disturbed = others.filter(~is_same | Q(experiment__loading=each))
    loads = Run.objects.queued().filter(kind=Run.Kind.LOAD, experiment=OuterRef("experiment"))
    is_loading = Q(experiment__loading=each) | Q(Exists(loads))
    has_begun = Q(Exists(Tenancy.objects.filter(experiment=OuterRef("experiment"))))
    return ~has_begun & ~Q(has_time_to_itself()) & (Q(Exists(disturbed)) | is_loading & Q(Exists(others)))


def lacks_its_data() -> Q:
    """Tell whether the run's instance has, as far as BenchHub knows, other data than the run needs."""
    current = DataSet.objects.filter(instance=OuterRef("system__instance"), replaced_at=None)
    others = current.exclude(recipe_digest=OuterRef("experiment__recipe_digest"))
    is_planned = ~Q(kind=Run.Kind.LOAD) & ~Q(experiment__recipe_digest="")
    # After a load that did not end well another would not either: what waited for it fails with it.
    same_instance = Q(experiment=OuterRef("experiment"), system__instance=OuterRef("system__instance"))
    loads = Run.objects.filter(same_instance, kind=Run.Kind.LOAD, position__lt=OuterRef("position"))
    newest = Subquery(loads.order_by("-position").values("state")[:1])
    is_loadable = Q(Exact(Coalesce(newest, Value(State.SUCCEEDED)), Value(State.SUCCEEDED)))
    return is_planned & Q(Exists(others)) & is_loadable


def first_tenant() -> Subquery:
    names = _other_tenancies().order_by("begun_at", "pk").values("experiment__name")
    return Subquery(names[:1])


def occupied_sentence(run: Run) -> str:
    tenant = getattr(run, "tenant", None) or "Another experiment"
    return f"{tenant} has begun on its server, whose data set stays until that experiment ends or is paused."
