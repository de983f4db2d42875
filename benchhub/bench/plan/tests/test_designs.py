from collections import Counter

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.analysis.protocol import digest as digests
from benchhub.bench import testing
from benchhub.bench.models import Design, Experiment, Run
from benchhub.bench.plan.testing import FREE_FORM, NEW, PLAN, form_of, look
from benchhub.catalog.models import DataSet, Host, Inspection, Instance, Workload

pytestmark = pytest.mark.django_db
PART_QUERIES = 3  # session, user; the design; its parts


@pytest.fixture
def filled(servers, recipe):
    return form_of(recipe, *servers)


# --- the matrix ----------------------------------------------------------------------------------------------------


def test_a_matrix_makes_a_part_of_each_workload_scale_and_ratio_and_leaves_out_what_is_asked(filled):
    form = {
        **filled,
        "scales": "10, 20",
        "thread_rule": "clients, clients/2",
        "left_out": "scale=20; threads=clients/2\nsystem=2; clients=8",
    }
    preview = look(form)
    parts = [
        (part.experiment.workload.parameters["scale"], part.experiment.thread_rule, part.run_count)
        for part in preview.parts
    ]
    # 2 systems x 3 levels x 2 repeats, less system 2 at 8 clients twice.
    assert parts == [(10, "clients", 10), (10, "clients/2", 10), (20, "clients", 10)]
    assert not Workload.objects.filter(parameters__scale=20).exists()


def test_a_plan_as_listed_says_beforehand_that_it_will_have_no_intervals(planner, filled):
    page = planner.post(PLAN, {**filled, "order": "listed", "repeats": "3"})
    assertContains(page, "like a difference: it will have neither interval nor verdict")
    assertContains(page, "As listed, the repeats of a level run in a row")
    for order in ("blocked", "shuffled", "random"):
        page = planner.post(PLAN, {**filled, "order": order, "repeats": "3"})
        assertNotContains(page, "neither interval nor verdict")


CROSSED = {
    "scales": "10, 20",
    "thread_rule": "clients, clients/2",
    "kept_only": "system=1; threads=clients\nsystem=2; scale=20; threads=clients/2\nsystem=1; scale=10; clients=8",
}


def planned(design):
    """Count the measuring runs of all parts of a design, by (scale, threads, instance)."""
    runs = Run.objects.filter(experiment__design=design, kind="measure")
    fields = ("experiment__workload__parameters__scale", "experiment__thread_rule", "system__instance__name")
    return dict(sorted(Counter(runs.values_list(*fields)).items()))


def test_systems_are_crossed_with_parts_by_conditions_that_name_both(planner, filled):
    """System 1 at both scales with a thread for each client; at scale 10 and 8 clients with half as many too; system 2
    at scale 20 with half as many only.
    """
    planner.post(NEW, {**filled, **CROSSED, "queue": "1"})
    assert planned(Design.objects.get()) == {
        (10, "clients", "pg 16.4"): 6,  # 3 levels x 2 repeats
        (10, "clients/2", "pg 16.4"): 2,
        (20, "clients", "pg 16.4"): 6,
        (20, "clients/2", "pg 18.1"): 6,
    }
    halved = Run.objects.filter(experiment__thread_rule="clients/2", kind="measure", system__instance__name="pg 16.4")
    assert set(halved.values_list("clients", flat=True)) == {8}
    last = Design.objects.get().experiments.order_by("pk").last()
    assertContains(planner.get(reverse("experiment", args=[last.pk])), " on 1 system at ")


def test_a_system_that_a_part_leaves_out_gets_its_data_set_in_the_part_that_has_it(filled):
    """Scale 10 with system 1 only, then with both: system 2 has nothing loaded until then."""
    form = {**filled, "thread_rule": "clients, clients/2", "left_out": "system=2; threads=clients"}
    assert [part.load_count for part in look(form).parts] == [1, 1]


def test_a_similar_design_has_all_its_parts_and_nothing_else(planner, filled):
    planner.post(NEW, {**filled, **CROSSED, "queue": "1"})
    first = Design.objects.get()
    draft = planner.get(NEW, {"design": first.pk}).context["page"].draft
    assert draft.plan["scales"].value() == "10, 20"
    assert draft.plan["thread_rule"].value() == "clients, clients/2"
    values = {name: draft.plan[name].value() for name in ("scales", "thread_rule", "kept_only", "left_out")}
    planner.post(NEW, {**filled, **values, "queue": "1"})
    assert planned(Design.objects.latest("pk")) == planned(first) != {}


def test_a_similar_design_leaves_out_the_parts_that_were_left_out_and_knows_its_workloads(planner, filled, recipe):
    parameters = {**testing.PARAMETERS, "script": "tpcb-like"}
    other = Workload.objects.create(name="tpcb", tool="pgbench", parameters=parameters)
    left_out = {"left_out": "workload=2; scale=20\nclients=8; repeat=2"}
    planner.post(NEW, {**filled, "scales": "10, 20", "more_workloads": [str(other.pk)], **left_out, "queue": "1"})
    first = Design.objects.get()
    draft = planner.get(NEW, {"design": first.pk}).context["page"].draft
    names = ("workload", "more_workloads", "scales", "kept_only", "left_out")
    values = {name: draft.plan[name].value() for name in names}
    assert values == {
        "workload": recipe.pk, "more_workloads": [other.pk], "scales": "10, 20", "kept_only": "",
        "left_out": "workload=2; scale=20\nclients=8; repeat=2",
    }  # fmt: skip
    assert draft.plan["name"].value() == first.name


def test_a_design_is_run_again_with_all_its_parts_and_loads_what_each_needs(planner, filled):
    planner.post(NEW, {**filled, "scales": "10, 20", "queue": "1"})
    first = Design.objects.get()
    assertNotContains(planner.get(reverse("design", args=[first.pk])), "Run it again")
    Run.objects.update(state="cancelled")
    assertContains(planner.get(reverse("design", args=[first.pk])), "All 2 parts, 24 measuring runs")
    response = planner.post(reverse("design-again", args=[first.pk]))
    copy = Design.objects.latest("pk")
    assertRedirects(response, reverse("design", args=[copy.pk]))
    assert (copy.name, copy.experiments.count()) == (first.name, 2)
    counts = [Counter(part.runs.values_list("kind", "state")) for part in copy.experiments.order_by("pk")]
    assert counts == [{("load", "queued"): 2, ("measure", "queued"): 12}] * 2
    assert first.experiments.count() == 2


def test_a_plan_of_one_part_is_an_experiment_and_no_design(planner, filled):
    planner.post(NEW, {**filled, "queue": "1"})
    assert Experiment.objects.get().design is None
    assert not Design.objects.exists()


def test_conditions_that_leave_nothing_are_refused_beside_the_field(planner, filled):
    response = planner.post(NEW, {**filled, "left_out": "clients=1..8", "queue": "1"})
    assertContains(response, "The conditions leave no run in the plan.")
    assertContains(response, "clients=1..8")
    assert not Experiment.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("scales", "10, many", "&#x27;many&#x27; is no scale"),
        ("left_out", "clients", "is no condition: write conditions such as"),
        ("kept_only", "colour=1", "cannot be asked about"),
        ("thread_rule", "clients, many", "write clients, clients/2 or a number"),
        ("order_seed", "-1", "greater than or equal to 0"),
        ("restart", "on", "The data directory or the programs of pg 16.4 are not known"),
        ("drop_caches", "on", "The account on box may not drop caches, as its last probe found."),
    ],
)
def test_a_design_that_cannot_be_says_why_beside_the_field(planner, filled, field, value, sentence):
    page = planner.post(NEW, {**filled, field: value, "queue": "1"}).content.decode()
    place = page.index(f'id="id_{field}_error"')
    assert sentence in page[place : place + 300]
    assert not Experiment.objects.exists()


def test_caches_are_dropped_where_a_probe_found_that_the_account_may(planner, filled, box):
    Host.objects.filter(pk=box.pk).update(facts={**box.facts, "drop_caches": "by sudo"})
    planner.post(NEW, {**filled, "drop_caches": "on", "queue": "1"})
    run = Experiment.objects.get().runs.filter(kind="measure").first()
    assert run.spec["drop_caches"] and run.protocol.form["drop_caches"]


def test_on_a_standby_what_writes_loads_anew_or_vacuums_is_refused_and_what_only_reads_is_not(planner, filled, box):
    instance = Instance.objects.get(name="pg 16.4")
    Inspection.objects.create(instance=instance, driver=box, is_wanted=False, sight={"is_standby": True})
    writes = Workload.objects.create(name="writes", tool="pgbench", parameters={"script": "tpcb-like", "scale": 1})
    form = {**filled, "workload": str(writes.pk), "loading": "each", "vacuum": "on", "queue": "1"}
    page = planner.post(NEW, form)
    assertContains(page, "pg 16.4 is a standby, which takes no writes, and writes writes: choose its primary, or a")
    assertContains(page, "pg 16.4 is a standby, whose data set is loaded on its primary: choose to load where it is")
    assertContains(page, "pg 16.4 is a standby, where nothing can be vacuumed: leave that out. If it was")
    assert not Experiment.objects.exists()
    planner.post(NEW, {name: text for name, text in {**filled, "queue": "1"}.items() if name != "vacuum"})
    assert Experiment.objects.get().runs.filter(kind="load").count() == 2


def test_a_seed_is_drawn_for_each_form_and_gives_the_order_that_the_plan_showed_and_the_same_again(planner, filled):
    seeds = [planner.get(FREE_FORM).context["page"].draft.plan["order_seed"].value() for _ in range(3)]
    assert len(set(seeds)) > 1
    form = {**filled, "order": "random", "order_seed": str(seeds[0])}
    response = planner.post(PLAN, form)
    assertContains(response, f"by the seed {seeds[0]}")
    steps = response.context["page"].preview.steps_in_order
    order = [(step.system.label, step.clients, step.repeat) for step in steps]
    label, clients, repeat = order[0]
    first = f"{clients} client{'s' * (clients > 1)} on {label}, repeat {repeat}"
    assertContains(response, f'<ol class="order"><li>{first}</li>')
    orders = []
    for _ in range(2):
        planner.post(NEW, {**form, "queue": "1"})
        runs = Experiment.objects.latest("pk").runs.filter(kind="measure").order_by("position")
        orders.append(list(runs.values_list("system__label", "clients", "repeat")))
    assert order == orders[0] == orders[1] != sorted(orders[0])
    assert "Each of these runs" not in planner.post(PLAN, {**form, "order": "blocked"}).content.decode()
    assertContains(planner.post(PLAN, {**form, "order": "listed"}), ", the 2 repeats of each level in a row")
    assert set(Experiment.objects.values_list("order_seed", flat=True)) == {seeds[0]}


def test_a_similar_plan_has_the_design_of_the_first(planner, filled):
    values = {"order": "listed", "left_out": "clients=8; repeat=2", "settle_s": "5", "canary": "on", "loading": "each"}
    planner.post(NEW, {**filled, **values, "queue": "1"})
    draft = planner.get(NEW, {"like": Experiment.objects.get().pk}).context["page"].draft
    for name, value in values.items():
        assert str(draft.plan[name].value()) == {"on": "True"}.get(value, value)
    assert draft.has_order and draft.has_preparation and not draft.has_matrix


def test_the_page_of_a_design_takes_the_same_queries_whatever_it_holds(planner, filled, django_assert_num_queries):
    planner.post(NEW, {**filled, "scales": "10, 20, 30", "queue": "1"})
    address = reverse("design", args=[Design.objects.get().pk])
    with django_assert_num_queries(PART_QUERIES + 5):  # the design, systems, results, what was set aside, a tally
        assertContains(planner.get(address), "36")  # 3 parts x 2 systems x 3 levels x 2 repeats


@pytest.fixture
def tatp():
    return Workload.objects.create(name="tatp", tool="tatp", parameters={"subscribers": 20_000, "mix": "80/20"})


def test_load_generators_without_a_scale_are_parts_of_a_design_with_their_own_size(planner, filled, tatp):
    sysbench = {"script": "oltp_point_select", "tables": 2, "table_size": 1_000}
    other = Workload.objects.create(name="sysbench", tool="sysbench", parameters=sysbench)
    form = {**filled, "more_workloads": [str(tatp.pk), str(other.pk)]}
    pages = [planner.post(PLAN, form), planner.post(NEW, {**form, "queue": "1"}, follow=True)]
    for page in pages:
        for size in ("scale 10", "20,000 subscribers", "2 x 1,000 rows"):
            assertContains(page, size)
    assert Design.objects.get().experiments.count() == 3


def test_rates_for_a_load_generator_that_holds_none_are_refused_in_plain_words(planner, filled, tatp):
    form = {**filled, "workload": str(tatp.pk), "levels": "4", "rates": "1000", "latency_limit_ms": "5"}
    page = planner.post(PLAN, form)
    assertContains(page, "tatp takes no rate: an open loop needs a workload of pgbench.")
    assertNotContains(page, "latency_limit_ms&#x27;")


def test_scales_for_workloads_that_have_none_are_refused(planner, filled, tatp):
    page = planner.post(PLAN, {**filled, "workload": str(tatp.pk), "scales": "10, 20"})
    assertContains(page, "None of the workloads has a scale")
    assertNotContains(planner.post(PLAN, {**filled, "scales": "10, 20"}), "None of the workloads has a scale")


def test_a_data_set_that_is_there_is_loaded_again_once_another_part_has_replaced_it(filled, servers):
    recipe = {"tool": "pgbench", "scale": 10}
    fields = {"recipe": recipe, "recipe_digest": digests.digest(recipe), "size_bytes": 1, "checksum": "x"}
    for instance in Instance.objects.all():
        DataSet.objects.create(instance=instance, build=instance.build, **fields)
    assert [part.load_count for part in look({**filled, "scales": "20, 10"}).parts] == [2, 2]
    assert [part.load_count for part in look({**filled, "scales": "10, 20"}).parts] == [0, 2]


def test_a_design_is_cancelled_with_all_its_parts_and_nothing_else_is(planner, filled):
    planner.post(NEW, {**filled, "scales": "10, 20", "queue": "1"})
    planner.post(NEW, {**filled, "name": "another", "queue": "1"})
    address = reverse("design-cancel", args=[Design.objects.get().pk])
    assertContains(planner.get(address), "24 runs and 4 initialisations left in all its parts")
    assert not Run.objects.filter(state="cancelled").exists()
    assertRedirects(planner.post(address), reverse("design", args=[Design.objects.get().pk]))
    parts, others = (Run.objects.filter(experiment__design__isnull=is_alone) for is_alone in (False, True))
    assert {run.state for run in parts} == {"cancelled"}
    assert {run.state for run in others} == {"queued"}


# --- open loops ----------------------------------------------------------------------------------------------------


def test_a_sweep_of_rates_is_planned_from_one_number_of_clients_with_a_limit(planner, filled):
    form = {**filled, "levels": "16", "rates": "1000..3000:1000", "latency_limit_ms": "2.5"}
    assertContains(planner.post(PLAN, form), "1000, 2000, 3000 TPS offered")
    planner.post(NEW, {**form, "queue": "1"})
    experiment = Experiment.objects.get()
    assert (experiment.rates_tps, experiment.client_levels) == ([1000, 2000, 3000], [16])
    assert experiment.latency_limit_us == 2500
    assert experiment.runs.filter(kind="measure").count() == 3 * 2 * 2
    draft = planner.get(NEW, {"like": experiment.pk}).context["page"].draft
    assert [draft.plan[name].value() for name in ("levels", "rates", "latency_limit_ms")] == [
        "16", "1000..3000:1000", "2.5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "field", "sentence"),
    [
        ({"levels": "1, 2", "latency_limit_ms": "5"}, "levels", "A sweep of rates has one number of clients"),
        ({"levels": "16"}, "latency_limit_ms", "A sweep of rates needs a limit"),
        ({"levels": "16", "latency_limit_ms": "0"}, "latency_limit_ms", "greater than or equal to 0.001"),
        ({"levels": "16", "rates": "fast", "latency_limit_ms": "5"}, "rates", "&#x27;fast&#x27; is no rate"),
    ],
)
def test_a_sweep_that_cannot_be_says_why_beside_the_field(planner, filled, changes, field, sentence):
    page = planner.post(NEW, {**filled, "rates": "1000", **changes, "queue": "1"}).content.decode()
    place = page.index(f'id="id_{field}_error"')
    assert sentence in page[place : place + 300]
    assert not Experiment.objects.exists()
