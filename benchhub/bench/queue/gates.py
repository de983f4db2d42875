"""Conditions that keep a queued run waiting. The database computes them, so that queue and pages mean the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, reduce
from operator import or_
from typing import Any, TypeVar

from django.db import connection
from django.db.models import (
    BigIntegerField,
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
    Sum,
    Value,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Coalesce, Concat, Now
from django.db.models.lookups import Exact
from django.db.models.query import RawQuerySet

from benchhub.analysis.words import listing
from benchhub.bench.models import QUEUE_ORDER, Experiment, Hold, Promise, Reservation, Run, RunQuerySet, Tenancy, Window
from benchhub.bench.models.states import ACTIVE, State
from benchhub.catalog.instances import grants
from benchhub.catalog.models import DataSet, Host, Instance
from benchhub.catalog.models.moments import interval

# Of the runs that are alike in these, and granted, no gate lets a later one start before the first.
ALIKE = ("experiment", "system", "kind", "is_canary", "expected_s")
# From the first of each to the first of the next, by the index `run_candidate`: DISTINCT would read all that wait.
FIRST_OF_ALIKE = """
    WITH RECURSIVE alike AS (
        (
            SELECT experiment_id, system_id, kind, is_canary, expected_s, id FROM bench_run WHERE state = 'queued'
            ORDER BY experiment_id, system_id, kind, is_canary, expected_s, position LIMIT 1
        )
        UNION ALL
        SELECT later.* FROM alike CROSS JOIN LATERAL (
            SELECT run.experiment_id, run.system_id, run.kind, run.is_canary, run.expected_s, run.id
            FROM bench_run AS run
            WHERE run.state = 'queued'
                AND (run.experiment_id, run.system_id, run.kind, run.is_canary, run.expected_s)
                    > (alike.experiment_id, alike.system_id, alike.kind, alike.is_canary, alike.expected_s)
            ORDER BY run.experiment_id, run.system_id, run.kind, run.is_canary, run.expected_s, run.position LIMIT 1
        ) AS later
    )
    SELECT id FROM alike
"""
MARGIN_S = 5  # what a run takes beside its load: counters before and after, collecting
DRIVER, SERVER = "system__driver", "system__instance__host"
WAITING_FIELDS = (
    *("id", "experiment_id", "system_id", "kind", "clients", "repeat", "rate_tps", "state", "started_at", "expected_s"),
)
Runs = TypeVar("Runs", bound=QuerySet[Run])
Statement = tuple[str, tuple[Any, ...]]
KEYS: list[int] = []  # in the values of a statement: the place of keys that go with it


@dataclass(frozen=True, slots=True)
class Gate:
    """`is_shut` is true in the database where the run has to wait; `sentence` tells a person why."""

    name: str
    is_shut: Any
    sentence: Callable[[Run], str]


def needed(run: Run) -> timedelta:
    """Return how long the run is expected to occupy its host."""
    return timedelta(seconds=run.expected_s + MARGIN_S)


def _needed_period(expected_s: Any) -> Func:
    return Func(Now(), Now() + interval(expected_s + MARGIN_S), function="tstzrange")


# What a run needs to itself, by the names of resources().
NEEDS = (
    ("host", DRIVER),
    ("host", SERVER),
    ("instance", "system__instance"),
    ("group", f"{DRIVER}__interference_group"),
    ("group", f"{SERVER}__interference_group"),
)


def _resource(kind: str, key: str) -> Concat:
    return Concat(Value(f"{kind}:"), Cast(OuterRef(key), CharField()))


def _is_busy() -> Q:
    held = (Q(Exists(Hold.objects.filter(resource=_resource(kind, key)))) for kind, key in NEEDS)
    return reduce(or_, held)


def _comes_first() -> Func:
    """Tell whether the run of a promise comes before the outer run in the order of the queue."""
    experiment = "run__experiment"
    place = Coalesce(F(f"{experiment}__place"), F(f"{experiment}_id"), output_field=BigIntegerField())
    outer_place = Coalesce(OuterRef("experiment__place"), OuterRef("experiment_id"), output_field=BigIntegerField())
    order = (F(f"{experiment}__priority") * -1, place, F(f"{experiment}_id"), F("run__position"))
    outer_order = (OuterRef("experiment__priority") * -1, outer_place, OuterRef("experiment_id"), OuterRef("position"))
    rows = (Func(*keys, template="ROW(%(expressions)s)") for keys in (order, outer_order))
    return Func(*rows, template="(%(expressions)s)", arg_joiner=" < ", output_field=BooleanField())


def _is_promised() -> Q:
    """Tell whether a run that comes first waits for what this one needs, or for the data sets of its servers."""
    earlier = Promise.objects.filter(_comes_first())
    too_long = earlier.filter(starts_at__lt=Now() + interval(OuterRef("expected_s") + MARGIN_S))
    needed_by_both = too_long.filter(resource__in=[_resource(kind, key) for kind, key in NEEDS])
    instances = Instance.objects.filter(system__experimentsystem__experiment=OuterRef(OuterRef("experiment")))
    names = instances.values_list(Concat(Value("data:"), Cast("pk", CharField())))
    has_begun = Q(Exists(Tenancy.objects.filter(experiment=OuterRef("experiment"))))
    unfinished = Run.objects.unfinished().filter(experiment=OuterRef(OuterRef("experiment"))).order_by()
    left_s = Subquery(unfinished.values("experiment").values(seconds=Sum(F("expected_s") + MARGIN_S)))
    data_sets = earlier.filter(resource__in=names, starts_at__lt=Now() + interval(left_s))
    return Q(Exists(needed_by_both)) | ~has_begun & Q(Exists(data_sets))


def _is_blocked() -> Exists:
    on_hosts = Q(host=OuterRef(DRIVER)) | Q(host=OuterRef(SERVER))
    return Exists(Reservation.objects.filter(on_hosts, period__overlap=_needed_period(OuterRef("expected_s"))))


def _is_outside() -> Q:
    """Tell whether the experiment is confined and the run would leave its periods (those that touch are one)."""
    periods = Func(
        F("experiment_id"),
        template="(SELECT range_agg(period) FROM bench_reservation WHERE upper(period) > now() AND "
        "bench_reservation.experiment_id = %(expressions)s)",
    )
    inside = Func(
        periods, _needed_period(F("expected_s")), template="(%(expressions)s)", arg_joiner=" @> ",
        output_field=BooleanField(),
    )  # fmt: skip
    reservations = Reservation.objects.filter(experiment=OuterRef("experiment"))
    windows = Window.objects.filter(experiment=OuterRef("experiment"))
    is_confined = Exists(reservations) | Exists(windows)
    return Q(is_confined) & ~Q(Coalesce(inside, Value(False)))


def _waits_for_preparation() -> Q:
    """Tell whether the run waits for loads and warm-ups before it or, as a load, for runs on the data it replaces."""
    # Of one instance, not of one system: two drivers of one server share its data set.
    same_instance = Q(system__instance=OuterRef("system__instance"))
    siblings = Run.objects.filter(same_instance, experiment=OuterRef("experiment")).unfinished()
    earlier, measuring = siblings.filter(position__lt=OuterRef("position")), Q(kind=Run.Kind.MEASURE)
    # The first is asked once for all runs, and mostly false: only then the database need not look run by run.
    is_unprepared = Q(Exists(siblings.exclude(measuring))) & Q(Exists(earlier.exclude(measuring)))
    return is_unprepared | Q(kind=Run.Kind.LOAD) & Q(Exists(earlier))


def _waits_for_part() -> Q:
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

    All of its instances count, and it takes them together: so no two experiments can wait for each other.
    """
    others, each = _other_tenancies(), Experiment.Loading.EACH
    is_same = Q(experiment__recipe_digest=OuterRef("experiment__recipe_digest"))
    disturbed = others.filter(~is_same | Q(experiment__loading=each))
    loads = Run.objects.queued().filter(kind=Run.Kind.LOAD, experiment=OuterRef("experiment"))
    is_loading = Q(experiment__loading=each) | Q(Exists(loads))
    has_begun = Q(Exists(Tenancy.objects.filter(experiment=OuterRef("experiment"))))
    return ~has_begun & (Q(Exists(disturbed)) | is_loading & Q(Exists(others)))


def _lacks_its_data() -> Q:
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


def _first_tenant() -> Subquery:
    names = _other_tenancies().order_by("begun_at", "pk").values("experiment__name")
    return Subquery(names[:1])


def _occupied_sentence(run: Run) -> str:
    tenant = getattr(run, "tenant", None) or "Another experiment"
    return f"{tenant} has begun on its server, whose data set stays until that experiment ends or is paused."


def _is_ungranted() -> Q:
    """Tell whether the run would change settings of somebody's server, or restart it, beyond what is granted now."""
    restart, grant = "spec__server_settings__restart", "system__instance__grant"
    beyond_reload = Q(**{grant: Instance.Grant.RELOAD}) & ~Q(**{restart: []})
    return Q(**{f"{restart}__isnull": False}) & (Q(**{grant: Instance.Grant.NONE}) | beyond_reload)


def hosts(run: Run) -> list[Host]:
    system = run.system
    return [system.driver, *([system.instance.host] if system.instance.host and not system.driven_locally else [])]


def resources(run: Run) -> list[str]:
    """Return what must be free: driver and server host, their interference groups, and the instance itself."""
    system = run.system
    both = [host for host in (system.driver, system.instance.host) if host]
    keys = {f"host:{host.pk}" for host in both} | {f"instance:{system.instance_id}"}
    keys |= {f"group:{host.interference_group_id}" for host in both if host.interference_group_id}
    return sorted(keys)


def _untrusted_hosts(run: Run) -> str:
    [first, *_] = [host for host in hosts(run) if host.trust != Host.Trust.PINNED]
    if first.trust == Host.Trust.QUARANTINED:
        return f"The host key of {first.name} has changed, so nothing is sent to it: look at the host's page."
    return f"The host key of {first.name} is {first.get_trust_display()}: approve it on the host's page."


def _paused_hosts(run: Run) -> str:
    paused = [host for host in hosts(run) if host.paused_at]
    reasons = dict.fromkeys(host.pause_reason for host in paused if host.pause_reason)
    return " ".join([f"The host {listing(host.name for host in paused)} is paused.", *reasons])


GATES = (
    Gate("experiment_paused", Q(experiment__paused_at__isnull=False), lambda _: "The experiment is paused."),
    Gate(
        "host_paused",
        Q(**{f"{DRIVER}__paused_at__isnull": False}) | Q(**{f"{SERVER}__paused_at__isnull": False}),
        _paused_hosts,
    ),
    Gate(
        "untrusted",
        ~Q(**{f"{DRIVER}__trust": Host.Trust.PINNED})
        | (Q(**{f"{SERVER}__isnull": False}) & ~Q(**{f"{SERVER}__trust": Host.Trust.PINNED})),
        _untrusted_hosts,
    ),
    Gate("ungranted", _is_ungranted(), lambda run: grants.WITHDRAWN.format(run.system.instance)),
    Gate("without_data", _waits_for_preparation(), lambda _: "Its data set is not loaded (and warmed up) yet."),
    Gate("occupied", is_occupied(), _occupied_sentence),
    Gate("foreign", _lacks_its_data(), lambda _: "Its server has another data set: its own is loaded first."),
    Gate("part", _waits_for_part(), lambda _: "An earlier part of its design uses the same server and comes first."),
    Gate(
        "canary",
        Q(experiment__canary__in=["waits", "failed"], is_canary=False),
        lambda _: "The canary, its experiment's lowest and highest level, comes first.",
    ),
    Gate("blocked", Q(_is_blocked()), lambda _: "A host of it is blocked now, or would be before the run ends."),
    Gate(
        "outside",
        _is_outside(),
        lambda _: "Its experiment may run only at other times, or the run would not end within them.",
    ),
    Gate(
        "promised",
        _is_promised(),
        lambda _: "A run that comes first waits until all that it needs is free: nothing later starts there before it.",
    ),
    Gate("busy", _is_busy(), lambda _: "Its host, its server or hardware that they share is busy or rests."),
)
CONTENTION = ("busy", "promised")  # they open by themselves, as runs end


def with_gates(runs: Runs) -> Runs:
    """Add to each run a boolean column for each gate, `gate_...`: true where it is shut."""
    return runs.annotate(**{f"gate_{gate.name}": _truth(gate.is_shut) for gate in GATES}, tenant=_first_tenant())


def _truth(condition: Any) -> Coalesce:
    return Coalesce(Func(condition, template="(%(expressions)s)", output_field=BooleanField()), Value(False))


def candidates() -> RunQuerySet:
    """Return the queued runs among which the next one is: of those that are alike the first, and the first granted.

    Gates are asked of these alone, of which there are as many whether ten runs wait or ten thousand. What a run would
    change stands in its spec, which is not read of all: only where the first waits for a grant is another looked for.
    """
    ungranted = Run.objects.filter(_is_ungranted(), pk__in=RawSQL(FIRST_OF_ALIKE, ()))
    granted = Run.objects.queued().annotate(is_ungranted=_truth(_is_ungranted())).filter(is_ungranted=False)
    others, values = _first_of_alike(granted.filter(system__in=ungranted.values("system"))).query.sql_with_params()
    # Both in one subquery: with two of them the database would go through all that wait.
    return Run.objects.queued().filter(pk__in=RawSQL(f"{FIRST_OF_ALIKE} UNION ALL ({others})", values))


def _first_of_alike(runs: RunQuerySet) -> QuerySet[Run, Any]:
    return runs.order_by(*ALIKE, "position").distinct(*ALIKE).values("pk")


def ready(runs: Runs) -> Runs:
    """Return the queued runs that nothing keeps from starting now."""
    shut = {f"gate_{gate.name}": False for gate in GATES}
    return with_gates(runs.filter(state=State.QUEUED)).filter(**shut)


def keys_of_next() -> list[int]:
    """Return the key of each driver's first run, by the order of the queue, that nothing keeps from starting now."""
    return _keys(_statement_of_next(), _keys(_statement_of_free()))


def keys_without_data() -> list[int]:
    """Return the key of the next run of each system of an experiment that waits for nothing but a load of its data."""
    return _keys(_statement_without_data(), _keys(_statement_of_other_data()))


def is_open(run: Run) -> bool:
    """Tell whether no gate keeps the run from starting. Held hosts do not count: the run itself may hold them."""
    statement, values = _statement_of_open()
    return bool(_rows(f"SELECT 1 FROM ({statement}) AS open_run(id) WHERE id = %s", (*values, run.pk)))


def gated(keys: Sequence[int]) -> RawQuerySet[Any]:
    """Return the runs of these keys, in any order, with their gates and what says when and why they start."""
    statement, values = _statement_with_gates()
    return Run.objects.raw(f"SELECT * FROM ({statement}) AS gated WHERE id = ANY(%s)", (*values, list(keys)))


# Statements are kept as text: Django takes ten times as long to write one anew as the database to answer it, and every
# end of a run asks for several.


@cache
def _statement_with_gates() -> tuple[str, tuple[Any, ...]]:
    names = [f"gate_{gate.name}" for gate in GATES]
    rows: QuerySet[Run, Any] = with_gates(Run.objects.all()).values(*WAITING_FIELDS, *names, "tenant")
    statement, values = rows.query.sql_with_params()
    return statement, values


# All gates are asked of few: mostly every driver has a run. So another statement comes before theirs.


@cache
def _statement_of_free() -> Statement:
    """Find the candidates whose driver has no run now."""
    held = Hold.objects.filter(resource=_resource("host", DRIVER))
    return candidates().filter(~Exists(held)).values("pk").query.sql_with_params()


@cache
def _statement_of_next() -> Statement:
    first = ready(_given()).order_by(DRIVER, *QUEUE_ORDER).distinct(DRIVER)
    return first.values("pk").query.sql_with_params()


@cache
def _statement_of_other_data() -> Statement:
    """Find the candidates on instances with a data set of another recipe."""
    others = DataSet.objects.filter(instance=OuterRef("system__instance"), replaced_at=None)
    others = others.exclude(recipe_digest=OuterRef("experiment__recipe_digest"))
    planned = candidates().exclude(kind=Run.Kind.LOAD).exclude(experiment__recipe_digest="")
    return planned.filter(Exists(others)).values("pk").query.sql_with_params()


@cache
def _statement_without_data() -> Statement:
    truths = {f"gate_{gate.name}": gate.name == "foreign" for gate in GATES if gate.name not in CONTENTION}
    runs = with_gates(_given().exclude(kind=Run.Kind.LOAD)).filter(**truths)
    first = runs.order_by("experiment", "system", "position").distinct("experiment", "system")
    return first.values("pk").query.sql_with_params()


def _given() -> RunQuerySet:
    """Return the queued ones of the runs whose keys go with the statement."""
    return Run.objects.queued().filter(pk__in=RawSQL("SELECT unnest(%s::bigint[])", (KEYS,)))


def _keys(statement: Statement, keys: Sequence[int] | None = None) -> list[int]:
    """Return what a statement finds; of the given keys, where it takes any, and without asking where there is none."""
    if keys is not None and not keys:
        return []
    sql, values = statement
    return [key for (key,) in _rows(sql, tuple(keys if value is KEYS else value for value in values))]


@cache
def _statement_of_overtaken() -> Statement:
    """Find the candidates that need two hosts, or data sets that belong to others."""
    is_apart = ~Q(**{SERVER: F(DRIVER)}) | Q(**{f"{SERVER}__isnull": True})
    return candidates().filter(is_apart | is_occupied()).values("pk").query.sql_with_params()


def next_contended() -> list[Run]:
    """Return each driver's first run of each experiment that waits only until what it needs is free, with its gates.

    They come in the order of the queue, and are those that others may overtake: they need two hosts, or data sets
    that belong to others.
    """
    keys = _keys(_statement_of_overtaken())
    if not keys:
        return []
    may_be_shut = (*CONTENTION, "occupied")
    runs = with_gates(Run.objects.queued().filter(pk__in=keys)).filter(Q(gate_busy=True) | Q(gate_occupied=True))
    runs = runs.filter(**{f"gate_{gate.name}": False for gate in GATES if gate.name not in may_be_shut})
    first = runs.order_by("experiment", DRIVER, "position").distinct("experiment", DRIVER)
    unread = (f"{host}__{name}" for host in (DRIVER, SERVER) for name in ("private_key", "facts"))
    return sorted(first.select_related("experiment", DRIVER, SERVER).defer("spec", *unread), key=_place)


def _place(run: Run) -> tuple[int, ...]:
    """Return the place of a run in the order of the queue, as QUEUE_ORDER has it."""
    experiment = run.experiment
    age = experiment.pk if experiment.place is None else experiment.place
    return -experiment.priority, age, experiment.pk, run.position


@cache
def _statement_of_open() -> tuple[str, tuple[Any, ...]]:
    shut = {f"gate_{gate.name}": False for gate in GATES if gate.name not in CONTENTION}
    return with_gates(Run.objects.all()).filter(**shut).values("pk").query.sql_with_params()


def _rows(statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def sentences(run: Run, without: Collection[str] = ()) -> list[str]:
    """Say why a run that came with its gates may not start; empty where it may. `without` names gates to leave out."""
    shut = (gate for gate in GATES if gate.name not in without and getattr(run, f"gate_{gate.name}"))
    return [gate.sentence(run) for gate in shut]
