"""Gates of time: what is reserved, promised to a run that comes first, or outside the times of an experiment."""

from __future__ import annotations

from django.db.models import (
    BigIntegerField,
    BooleanField,
    CharField,
    Exists,
    F,
    Func,
    OuterRef,
    Q,
    Subquery,
    Sum,
    Value,
)
from django.db.models.functions import Cast, Coalesce, Concat, Now

from benchhub.bench.models import Promise, Reservation, Run, Tenancy, Window
from benchhub.catalog.models import Instance
from benchhub.catalog.models.moments import interval

from .needs import DRIVER, MARGIN_S, NEEDS, SERVER, needed_period, resource


def _comes_first() -> Func:
    """Tell whether the run of a promise comes before the outer run in the order of the queue."""
    experiment = "run__experiment"
    place = Coalesce(F(f"{experiment}__place"), F(f"{experiment}_id"), output_field=BigIntegerField())
    outer_place = Coalesce(OuterRef("experiment__place"), OuterRef("experiment_id"), output_field=BigIntegerField())
    order = (F(f"{experiment}__priority") * -1, place, F(f"{experiment}_id"), F("run__position"))
    outer_order = (OuterRef("experiment__priority") * -1, outer_place, OuterRef("experiment_id"), OuterRef("position"))
    rows = (Func(*keys, template="ROW(%(expressions)s)") for keys in (order, outer_order))
    return Func(*rows, template="(%(expressions)s)", arg_joiner=" < ", output_field=BooleanField())


def is_promised() -> Q:
    """Tell whether a run that comes first waits for what this one needs, or for the data sets of its servers."""
    earlier = Promise.objects.filter(_comes_first())
    too_long = earlier.filter(starts_at__lt=Now() + interval(OuterRef("expected_s") + MARGIN_S))
    needed_by_both = too_long.filter(resource__in=[resource(kind, key) for kind, key in NEEDS])
    instances = Instance.objects.filter(system__experimentsystem__experiment=OuterRef(OuterRef("experiment")))
    names = instances.values_list(Concat(Value("data:"), Cast("pk", CharField())))
    has_begun = Q(Exists(Tenancy.objects.filter(experiment=OuterRef("experiment"))))
    unfinished = Run.objects.unfinished().filter(experiment=OuterRef(OuterRef("experiment"))).order_by()
    left_s = Subquery(unfinished.values("experiment").values(seconds=Sum(F("expected_s") + MARGIN_S)))
    data_sets = earlier.filter(resource__in=names, starts_at__lt=Now() + interval(left_s))
    return Q(Exists(needed_by_both)) | ~has_begun & Q(Exists(data_sets))


def is_blocked() -> Exists:
    on_hosts = Q(host=OuterRef(DRIVER)) | Q(host=OuterRef(SERVER))
    return Exists(Reservation.objects.filter(on_hosts, period__overlap=needed_period(OuterRef("expected_s"))))


def is_outside() -> Q:
    """Tell whether the experiment is confined and the run would leave its periods (those that touch are one)."""
    periods = Func(
        F("experiment_id"),
        template="(SELECT range_agg(period) FROM bench_reservation WHERE upper(period) > now() AND "
        "bench_reservation.experiment_id = %(expressions)s)",
    )
    inside = Func(
        periods, needed_period(F("expected_s")), template="(%(expressions)s)", arg_joiner=" @> ",
        output_field=BooleanField(),
    )  # fmt: skip
    reservations = Reservation.objects.filter(experiment=OuterRef("experiment"))
    windows = Window.objects.filter(experiment=OuterRef("experiment"))
    is_confined = Exists(reservations) | Exists(windows)
    return Q(is_confined) & ~Q(Coalesce(inside, Value(False)))
