import re

import pytest
from django.utils import timezone
from django.utils.html import escape
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import Found, Protocol, System
from benchhub.catalog.models import Hardware, Workload
from benchhub.reports.models import Comparison
from benchhub.reports.testing import address, both, figure_of, key, rows_of, variant

pytestmark = pytest.mark.django_db
# Session, user, curves, runs, latencies, facts, protocol, repeats on the host, licence models, and three of prices
COMPARISON_QUERIES = 13
REFUSAL_QUERIES = 8  # session, user, curves, levels, runs, latencies, declarations, protocols


def test_nothing_is_compared_without_signing_in(client, experiment, systems):
    assert client.get(both(experiment, systems)).status_code == 302
    assert client.get(both(experiment, systems, csv="levels")).status_code == 302


def test_a_comparison_takes_the_same_queries_however_many_runs_there_are(
    reader, experiment, systems, prices, django_assert_num_queries
):
    with django_assert_num_queries(COMPARISON_QUERIES):
        reader.get(both(experiment, systems))
    for clients in range(20, 40):
        testing.succeeded(testing.make_run(experiment, systems[0], clients, 1), 500.0)
    with django_assert_num_queries(COMPARISON_QUERIES):
        reader.get(both(experiment, systems))


def test_the_page_says_first_what_was_found_and_how_sure_it_is(reader, experiment, systems):
    sentence = (
        "PostgreSQL 18 gives 1.12x the throughput of PostgreSQL 16 at 8 clients "
        "(range of repeats 1.08 to 1.16, 2 repeats each): not tested, as that takes 3 repeats of each."
    )
    response = reader.get(both(experiment, systems))
    assertContains(response, sentence)
    assertContains(response, "goes from 1.00x at 1 client to 1.12x at 8 clients; none of them is tested.")
    page = response.content.decode()
    assert page.index("Highest as measured") < page.index("latency against clients") < page.index(sentence)


def test_the_baseline_is_the_reader_s(reader, experiment, systems):
    response = reader.get(both(experiment, systems, baseline=key(experiment, systems[1])))
    assertContains(response, "PostgreSQL 16 gives 0.89x the throughput of PostgreSQL 18")
    assertContains(response, '<span class="under">0.89x, 0.86 to 0.93</span>')
    assertNotContains(response, '<span class="under">1.12x')


def test_a_baseline_that_was_not_chosen_is_left_aside(reader, experiment, systems):
    assertContains(reader.get(both(experiment, systems, baseline="9-9")), "throughput of PostgreSQL 16 at 8")


def test_the_highest_of_a_level_is_marked_and_without_a_test_it_is_not_the_best(reader, experiment, systems):
    page = reader.get(both(experiment, systems)).content.decode()
    levels = page.partition("Throughput by clients and curve")[2]
    at_1, at_8 = re.findall(r'<tr>\s*<th scope="row" class="n">.*?</tr>', levels, re.S)
    assert at_1.count("highest</span>") == 2  # the means are the same
    assert at_8.count("highest</span>") == 1
    assert at_8.index("1,000") < at_8.index("highest</span>") < at_8.index("not tested</span>") < at_8.index("1,120")
    assert "best</span>" not in page
    assert "distinguishable" not in at_8


def test_every_repeat_of_every_curve_is_drawn(reader, experiment, systems):
    traces = figure_of(reader.get(both(experiment, systems)))["data"]
    names = {trace["name"] for trace in traces}
    assert {"PostgreSQL 16", "PostgreSQL 18"} <= names
    assert traces[0]["y"][2:] == [980.0, 1020.0]


def test_equal_labels_of_two_experiments_are_told_apart(reader, experiment, systems):
    again = testing.make_experiment(systems, name="Next day")
    testing.succeeded(testing.make_run(again, systems[0], 8, 1), 1000.0)
    response = reader.get(address(key(experiment, systems[0]), key(again, systems[0])))
    assertContains(response, "PostgreSQL 16, Next day gives 1.00x the throughput of PostgreSQL 16, Two builds")
    assertContains(response, "These systems were asked for alike.")
    assert System.objects.get(pk=systems[0].pk).label == "PostgreSQL 16"


def test_a_level_that_the_baseline_lacks_has_no_ratio(reader, experiment, systems):
    testing.succeeded(testing.make_run(experiment, systems[1], 16, 1), 1300.0)
    response = reader.get(both(experiment, systems))
    assertContains(response, "not in the baseline")
    assertContains(response, "at their peaks, 16 clients against 8 (")


@pytest.fixture
def other_protocol(systems):
    experiment = testing.make_experiment(systems, name="Longer")
    for system in systems:
        run = testing.make_run(
            experiment, system, 8, 1, protocol=Protocol.stored({"path": "socket", "duration_s": 300})
        )
        testing.succeeded(run, 1234.5)
    return experiment


def test_different_protocols_are_refused_and_the_fields_are_named(reader, experiment, systems, other_protocol, prices):
    keys = [key(experiment, systems[0]), key(other_protocol, systems[1])]
    response = reader.get(address(*keys))
    assertContains(response, "Runs of different protocols are not comparable. They differ in: duration.")
    assertContains(response, "<td>300 s</td>")
    assertContains(response, f'href="?curve={keys[0]}">Show this one alone')
    assertContains(response, f'href="?curve={keys[0]}">Leave out PostgreSQL 18')
    assert figure_of(response) is None
    assertNotContains(response, "x the throughput")
    assertNotContains(response, "How was this computed?")


def test_fields_of_protocols_have_plain_labels_units_and_their_defaults(reader, systems):
    experiments = [testing.make_experiment(systems, name=name) for name in ("Cold", "Warm")]
    for experiment, form in zip(
        experiments, ({}, {"warmup_s": 10, "vacuum": True, "data_set": {"scale_factor": 10}}), strict=True
    ):
        protocol = Protocol.stored({"path": "socket", **form})
        testing.succeeded(testing.make_run(experiment, systems[0], 8, 1, protocol=protocol), 100.0)
    response = reader.get(address(*(key(experiment, systems[0]) for experiment in experiments)))
    assertContains(response, "They differ in: data set, vacuum before each run, warm-up.")
    page = response.content.decode()
    for label, values in (("warm-up", {"0 s", "10 s"}), ("vacuum before each run", {"no", "yes"})):
        assert set(re.findall(rf'scope="row">{label}</th><td>(.*?)</td><td>(.*?)</td>', page)[0]) == values
    assert "scale factor 10" in page
    assertNotContains(response, "warmup_s")


def tatp(system, mqth, **parameters):
    """One run, under neutral names, of TATP with these parameters."""
    parameters = {"subscribers": 20_000, "mix": "80/20", **parameters}
    name = f"TATP {Workload.objects.count()}"
    workload = Workload.objects.create(name=name, tool="tatp", parameters=parameters)
    experiment = testing.make_experiment([system], name=f"Evening {workload.pk}", workload=workload)
    run = testing.make_run(
        experiment, system, 8, 1, protocol=Protocol.stored({"path": "socket", "parameters": parameters})
    )
    testing.succeeded(run, mqth, unit="MQTh")
    return experiment


def test_uniform_keys_are_marked_beside_those_of_the_definition_and_nowhere_else(reader, systems):
    experiments = [
        tatp(systems[0], 100.0),
        tatp(systems[0], 120.0, keys="uniform"),
        tatp(systems[1], 110.0, keys="uniform"),
    ]
    first, uniform, other = (
        key(experiment, experiment.experimentsystem_set.get().system) for experiment in experiments
    )
    reason = {"reason": "Only to look at both of them side by side."}
    assert reader.post(address(first, uniform), reason).status_code == 302
    response = reader.get(address(first, uniform))
    labels = {trace["name"].removesuffix(", each run") for trace in figure_of(response)["data"] if trace.get("name")}
    assert labels == {f"PostgreSQL 16, {experiments[0].name}", f"PostgreSQL 16, {experiments[1].name}, uniform keys"}
    both_uniform = reader.get(address(uniform, other))
    assert not any("uniform" in trace["name"] for trace in figure_of(both_uniform)["data"])
    assertContains(both_uniform, "(uniform keys)", count=2)


def test_what_sets_a_workload_of_pgbench_apart_is_shown_where_the_curves_come_from(reader, experiment, systems):
    parameters = {**testing.PARAMETERS, "connect_each": True, "partitions": 4}
    workload = Workload.objects.create(name="connecting", tool="pgbench", parameters=parameters)
    apart = testing.make_experiment(systems, name="Apart", workload=workload)
    for system in systems:
        form = {"path": "socket", "parameters": parameters}
        testing.succeeded(testing.make_run(apart, system, 8, 1, protocol=Protocol.stored(form)), 50.0)
    response = reader.get(address(*(key(apart, system) for system in systems)))
    assertContains(response, "(4 partitions; a connection for each transaction)")
    assertContains(response, "connect each yes")
    assertNotContains(reader.get(both(experiment, systems)), "partitions")


def test_the_weights_of_a_custom_mix_stand_in_words_where_protocols_differ(reader, systems):
    weights = {"GET_ACCESS_DATA": 3, "UPDATE_LOCATION": 1}
    experiments = [tatp(systems[0], 100.0), tatp(systems[0], 90.0, mix="custom", weights=weights)]
    response = reader.get(address(*(key(experiment, systems[0]) for experiment in experiments)))
    assertContains(response, "weights (GET_ACCESS_DATA 3, UPDATE_LOCATION 1)")
    assertNotContains(response, "{&#x27;")


def test_what_may_be_compared_is_offered(reader, experiment, systems, other_protocol):
    odd = key(other_protocol, systems[0])
    response = reader.get(address(odd, *(key(experiment, system) for system in systems)))
    curves = "&amp;".join(f"curve={key(experiment, system)}" for system in systems)
    assertContains(response, f'href="?{curves}">Compare these 2')
    assertContains(response, f'href="?{curves}">Leave out PostgreSQL 16')


def test_a_refusal_gives_no_csv_either(reader, experiment, systems, other_protocol):
    response = reader.get(address(key(experiment, systems[0]), key(other_protocol, systems[1]), csv="levels"))
    assert response["Content-Type"].startswith("text/html")


def test_a_refusal_takes_few_queries(reader, experiment, systems, other_protocol, django_assert_num_queries):
    with django_assert_num_queries(REFUSAL_QUERIES):
        reader.get(address(key(experiment, systems[0]), key(other_protocol, systems[1])))


def test_unlike_units_are_refused(reader, experiment, systems):
    orders = testing.make_experiment(systems, name="Orders")
    testing.succeeded(testing.make_run(orders, systems[0], 8, 1), 1000.0, unit="NOPM")
    response = reader.get(address(key(experiment, systems[0]), key(orders, systems[0])))
    assertContains(response, "Throughput in NOPM and TPS is not comparable")
    assert figure_of(response) is None


def test_a_demonstration_among_them_is_said(reader, experiment, systems):
    demonstration = testing.make_experiment(systems, name="Show", is_demonstration=True)
    testing.succeeded(testing.make_run(demonstration, systems[0], 8, 1), 900.0)
    warning = "A demonstration is among these curves: short runs on a shared machine support no verdict."
    assertContains(reader.get(address(key(experiment, systems[0]), key(demonstration, systems[0]))), warning)
    assertNotContains(reader.get(both(experiment, systems)), warning)


def test_curves_that_are_not_there_are_named_beside_those_that_are(reader, experiment, systems):
    response = reader.get(address(key(experiment, systems[0]), "998-999", "nonsense"))
    assertContains(response, "There are no curves 998-999 and nonsense.")
    assertContains(response, "Add a second curve to compare it with.")


@pytest.mark.parametrize("names", [("998-999",), ("nonsense",), ("998-999", "<b>")])
def test_an_address_without_any_curve_that_exists_is_not_found_and_says_what_to_do(reader, names):
    response = reader.get(address(*names))
    for name in names:
        assertContains(response, escape(name), status_code=404)
    assertContains(response, '<a href="/compare/">Choose among the curves that there are</a>', status_code=404)
    assertNotContains(response, "<b>", status_code=404)


def test_a_curve_without_a_result_yet_is_found_and_left_out_with_the_reason(reader, systems):
    planned = testing.make_experiment(systems)
    assertContains(reader.get(address(key(planned, systems[0]))), "is left out. No run of it has ended with a result.")


def test_a_curve_whose_runs_are_all_set_aside_is_left_out_with_that_reason(reader, experiment, systems):
    testing.ended(testing.make_run(experiment, systems[0], 64, 1), "failed", "it broke")
    of_system = experiment.runs.filter(system=systems[0])
    of_system.update(set_aside_at=timezone.now(), set_aside_reason="The fan stood still.")
    response = reader.get(both(experiment, systems))
    assertContains(response, "is left out. All its runs with a result are set aside. Put one back on its page, or run")
    assertNotContains(response, "No run of it has ended with a result.")


def test_curves_in_the_address_of_the_kept_comparisons_lead_to_the_page_that_compares_them(reader):
    response = reader.get("/comparisons/?curve=998-999&day=2026-01-31")
    assert response.headers["Location"] == "/compare/?curve=998-999&day=2026-01-31"


def test_a_kept_comparison_is_found_though_its_curves_are_not_there_any_more(reader):
    comparison = Comparison.objects.create(title="Of last year", query="curve=998-999")
    response = reader.get(f"/comparisons/{comparison.pk}/", follow=True)
    assertContains(response, "Of last year")
    assertContains(response, "There is no curve 998-999.")


def test_more_curves_than_can_be_told_apart_are_cut_with_a_word(reader, experiment, systems):
    many = [key(experiment, systems[0]), *(f"998-{number}" for number in range(12))]
    assertContains(reader.get(address(*many)), "At most 12 curves are compared")


def test_facts_that_changed_between_runs_of_a_curve_are_a_doubt(reader, experiment, systems):
    first, *_ = runs = list(experiment.runs.filter(system=systems[0]).order_by("position"))
    for run in runs:
        Found.objects.create(run=run, facts_digest=testing.sha256("old" if run is first else "new"))
    response = reader.get(both(experiment, systems))
    others = ", ".join(str(run.pk) for run in runs[1:])
    doubt = (
        f"The host or the server changed during this curve (run {first.pk}; runs {others}), so its points may differ "
        "for that reason alone. Compare the facts of these runs, and repeat those that differ."
    )
    assertContains(response, doubt, count=1)


@pytest.mark.parametrize(("limits", "is_changed"), [(("old", "new"), True), (("", "new"), False)])
def test_limits_that_changed_between_runs_are_a_doubt_unless_nobody_read_them(
    reader, experiment, systems, limits, is_changed
):
    first, *_ = runs = list(experiment.runs.filter(system=systems[0]).order_by("position"))
    for run in runs:
        limits_digest = limits[run is not first] and testing.sha256(limits[run is not first])
        Found.objects.create(run=run, facts_digest=testing.sha256("facts"), limits_digest=limits_digest)
    text = reader.get(both(experiment, systems)).content.decode()
    assert ("The host or the server changed during this curve" in text) == is_changed


def test_hardware_and_what_was_asked_of_the_systems_stand_side_by_side(reader, systems):
    form = {"path": "socket", "settings": {"shared_buffers": "256MB"}, "build": {"version": "16"}}
    other = {"path": "socket", "settings": {"shared_buffers": "1GB"}, "build": {"version": "18"}}
    systems = [variant(systems[0], description=form), variant(systems[1], description=other)]
    experiment = testing.make_experiment(systems)
    for system in systems:
        testing.succeeded(testing.make_run(experiment, system, 8, 1), 1000.0)
    page = reader.get(both(experiment, systems)).content.decode()
    differences = page[page.index("What differs between the systems") :]
    assert re.search(r"shared_buffers</th><td>256MB</td><td>1GB</td>", differences)
    assert "build version</th><td>16</td><td>18</td>" in differences
    assert ">path</th>" not in differences
    assert re.search(r"Cores</th><td>20</td><td>20</td>", page)


@pytest.fixture
def bought_twice(systems):
    """One system, described once as a box of 20 cores and once as one of 40."""
    larger = Hardware.objects.create(name="Larger box", sockets=4, cores_per_socket=10)
    both_systems = [systems[0], variant(systems[0], hardware_id=larger.pk, label="On the larger box")]
    experiment = testing.make_experiment(both_systems, name="Bought twice")
    for system in both_systems:
        testing.succeeded(testing.make_run(experiment, system, 8, 1), 1000.0)
    return both(experiment, both_systems)


def test_hardware_that_differs_is_never_called_noise(reader, bought_twice):
    response = reader.get(bought_twice)
    assertContains(response, "but for the hardware as bought: machine, sockets, cores.")
    assertNotContains(response, "is noise")


def test_one_host_that_is_described_by_two_machines_is_a_doubt(reader, bought_twice, experiment, systems):
    doubt = "One host, box, is described by different hardware (Box"
    assertContains(reader.get(bought_twice), doubt, count=1)
    assertNotContains(reader.get(both(experiment, systems)), doubt)


def test_more_than_four_doubts_are_counted_and_folded(reader, experiment, systems):
    page = both(experiment, systems)
    few = reader.get(page)
    assertContains(few, '<details id="doubts" open><summary>2 doubts</summary>')
    assertContains(few, 'href="#doubts"', count=1)  # from the answer
    doubts = [{"code": str(number), "text": f"Doubt {letter}."} for number, letter in enumerate("abc")]
    testing.succeeded(testing.make_run(experiment, systems[0], 4, 1), 800.0, doubts=doubts)
    assertContains(reader.get(page), '<details id="doubts"><summary>5 doubts</summary>')


def test_doubts_that_differ_in_one_number_are_one_doubt_with_its_range_and_its_list_of_levels(
    reader, experiment, systems
):
    for clients, percent in ((2, 98), (4, 95), (16, 100)):
        doubts = [{"code": "host-busy", "text": f"Just before the load {percent}% of the CPU time was busy."}]
        testing.succeeded(testing.make_run(experiment, systems[0], clients, 1), 400.0, doubts=doubts)
    response = reader.get(both(experiment, systems))
    assertContains(response, "<li>Just before the load 95% to 100% of the CPU time was busy.", count=1)
    assertContains(response, "PostgreSQL 16 at 2, 4, 16 clients</span>")
    assertNotContains(response, "<li>Just before the load 98%")


def test_a_doubt_about_both_curves_is_said_once_with_the_two(reader, experiment, systems):
    doubt = "Fewer than 3 repeats at every level: no interval, and no test. Add repeats."
    curves = (
        '<span class="one"><span class="key key-0"></span>PostgreSQL 16,</span>'
        '<span class="one"><span class="key key-1"></span>PostgreSQL 18</span>'
    )
    response = reader.get(both(experiment, systems))
    assertContains(response, f'<li>{doubt} <span class="under">{curves}</span></li>', count=1)
    assertContains(response, f"<li><b>Doubtful:</b>{curves}</li>", count=1)


def test_only_what_the_repeats_bear_out_is_in_bold(reader, experiment, repeated, systems):
    tested = reader.get(both(repeated, systems))
    assertContains(tested, "<b>PostgreSQL 18 gives 1.12x the throughput of PostgreSQL 16 at 8 clients</b>, between")
    single = testing.make_experiment(systems, name="Once")
    for system in systems:
        testing.succeeded(testing.make_run(single, system, 8, 1), 1000.0)
    assertNotContains(reader.get(both(single, systems)), "<b>PostgreSQL 18 gives")


def test_from_three_repeats_on_the_page_tests_and_says_it_plainly(reader, repeated, systems):
    response = reader.get(both(repeated, systems))
    assertContains(
        response,
        "PostgreSQL 18 gives 1.12x the throughput of PostgreSQL 16 at 8 clients</b>, between 1.11 and 1.13, "
        "5 repeats each.",
    )
    assertContains(response, "it tells the two apart at 2 of them.")
    assertContains(response, "no clear winner</span>", count=1)  # at 1 client
    assertContains(response, "no clear winner: not distinguishable from PostgreSQL 16</span>", count=1)
    assertContains(response, "best</span>", count=2)
    assertNotContains(response, "range of repeats")


def test_the_csv_of_levels_says_how_each_ratio_was_judged(reader, repeated, systems):
    rows = rows_of(reader.get(both(repeated, systems, csv="levels")))
    at_1, at_8 = (row for row in rows if row["curve"] == "PostgreSQL 18" and row["clients"] in ("1", "8"))
    assert {at_1["ratio_kind"], at_8["ratio_kind"]} == {"95% interval"}
    assert float(at_8["p"]) < float(at_8["p_of_several"]) < 0.001 < 0.05 < float(at_1["p_of_several"])


def test_the_environment_as_found_and_the_method_stand_side_by_side(reader, experiment, systems):
    for system, kernel in zip(systems, ("6.1.0", "6.12.0"), strict=True):
        run = experiment.runs.filter(system=system, clients=8).order_by("repeat").first()
        facts = {"box": {"kernel": kernel, "username": "secret-user", "dmi": {"sys_vendor": "Acme"}}}
        Found.objects.create(run=run, host=facts, server={"version": "16"}, facts_digest=testing.sha256(kernel))
    response = reader.get(both(experiment, systems))
    assertContains(response, '<tr class="differs"><th scope="row">kernel</th><td>6.1.0</td><td>6.12.0</td></tr>')
    assertContains(response, '<th scope="row">dmi: sys vendor</th><td>Acme</td><td>Acme</td>')
    assertNotContains(response, "secret-user")
    assertContains(response, "<dt>connection path</dt><dd>socket</dd>")
