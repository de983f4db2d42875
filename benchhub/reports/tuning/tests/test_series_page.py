import json
import re

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench.models import Result, Run
from benchhub.catalog.models import LicenceModel
from benchhub.reports.testing import list_price, rows_of
from benchhub.reports.tuning.testing import STEPS

pytestmark = pytest.mark.django_db
SERIES_QUERIES = 15  # session, user, series, treatments, steps, curves, runs, and 8 of prices


def page(reader, series):
    return reader.get(reverse("tuning-series", args=[series.pk]))


def figure_of(response):
    match = re.search(r'id="figure-steps" type="application/json">(.*?)</script>', response.content.decode())
    return json.loads(match[1])


def test_the_best_configuration_comes_first_and_a_less_durable_one_is_no_candidate(reader, cumulative):
    response = page(reader, cumulative)
    assertContains(response, "<h2>Best: steps 1 to 2, +12.0% (11.5 to 12.5%) over the baseline.</h2>", html=True)
    assertContains(response, "Not told apart from it: step 1 (memory).")
    assertContains(response, "synchronous_commit = off, so that a crash may lose what was committed.")
    assertContains(response, "No effect shown of step 2 (wal).")
    assertNotContains(response, "Best: steps 1 to 3")


def test_each_step_has_its_effect_and_the_settings_that_it_changes(reader, cumulative):
    response = page(reader, cumulative)
    assertContains(response, "shared_buffers: 256MB to <b>4GB</b>", html=True)
    assertContains(response, "max_wal_size: <b>16GB</b>, not set before", html=True)
    assertContains(response, "no effect shown (-0.4 to +0.5%)")


def test_the_waterfall_ends_at_the_total_and_colours_no_gain_that_is_not_shown(reader, cumulative):
    figure = figure_of(page(reader, cumulative))
    by_name = {trace["name"]: trace for trace in figure["data"]}
    assert by_name["baseline and together"]["x"] == pytest.approx([100, 212.8], rel=1e-4)
    assert by_name["gain"]["y"] == ["1. memory", "3. sync"]
    assert by_name["gain"]["base"] == pytest.approx([100, 112.01], rel=1e-4)
    assert by_name["not distinguishable"]["y"] == ["2. wal"]
    assert "loss" not in by_name


def test_the_effects_are_downloaded_as_csv_and_compound_to_the_total(reader, cumulative):
    rows = rows_of(reader.get(reverse("tuning-csv", args=[cumulative.pk, "effects"])))
    effects = [float(row["effect"]) for row in rows]
    assert effects[0] * effects[1] * effects[2] == pytest.approx(effects[3], rel=1e-9) == pytest.approx(2.128, rel=1e-4)
    assert [row["verdict"] for row in rows] == ["more", "not distinguishable", "more", "more"]
    assert rows[0]["changed"] == "shared_buffers 256MB to 4GB"
    assert reader.get(reverse("tuning-csv", args=[cumulative.pk, "other"])).status_code == 404


def test_each_configuration_has_its_price_per_transaction(reader, cumulative, prices):
    rows = rows_of(reader.get(reverse("tuning-csv", args=[cumulative.pk, "systems"])))
    own = [row for row in rows if row["licence"] == "Hardware only"]
    assert [row["price"] for row in own] == ["5.000", "4.464", "4.464", "2.350"]
    response = page(reader, cumulative)
    assertContains(response, "Price per TPS, Hardware only")
    assertContains(response, "baseline 5.000 EUR")


def test_the_prices_of_a_column_have_as_many_decimals(reader, cumulative, hardware):
    LicenceModel.objects.create(name="Hardware only", metric="none")
    list_price("1285", hardware=hardware)
    rows = rows_of(reader.get(reverse("tuning-csv", args=[cumulative.pk, "systems"])))
    assert [row["price"] for row in rows] == ["1.285", "1.147", "1.147", "0.604"]


def test_without_prices_the_page_says_what_is_missing(reader, cumulative):
    assertContains(page(reader, cumulative), "There is no price per TPS yet")


def test_the_best_settings_are_taken_away_as_files(reader, cumulative):
    response = page(reader, cumulative)
    assertContains(response, "max_wal_size = &#x27;16GB&#x27;")
    assertNotContains(response, "synchronous_commit = &#x27;off&#x27;")
    answer = reader.get(reverse("tuning-settings", args=[cumulative.pk, 2, "alter-system.sql"]))
    assert "ALTER SYSTEM SET shared_buffers = '4GB';" in answer.content.decode()
    assert answer["Content-Disposition"] == f'attachment; filename="tuning-{cumulative.pk}-2-alter-system.sql"'
    for place, name in ((9, "postgresql.conf"), (0, "passwd")):
        assert reader.get(reverse("tuning-settings", args=[cumulative.pk, place, name])).status_code == 404


def test_a_typical_run_of_the_baseline_leads_to_one_of_the_best_on_its_axis(reader, cumulative):
    """The middle one of three repeats, of the baseline and of steps 1 to 2."""
    middle = {
        place: sorted(runs, key=lambda run: run.result.throughput)[1].pk
        for place in (0, 2)
        if (runs := list(cumulative.treatments.get(place=place).system.runs.select_related("result")))
    }
    assertContains(page(reader, cumulative), f'href="/runs/{middle[0]}/?with={middle[2]}#timeline"')


@pytest.fixture
def tuned(make_series):
    """A series whose second step changes the operating system alone."""
    os_steps = {2: {"vm.swappiness": "1", "transparent_hugepage": "never", "cpu_governor": "performance"}}
    return make_series(
        {(): 1000.0, (1,): 1100.0, (1, 2): 1300.0},
        steps=[("memory", {"work_mem": "1GB"}), ("os", {})],
        os_steps=os_steps,
    )


def test_a_step_of_the_operating_system_has_its_effect_and_says_what_it_changes(reader, tuned):
    response = page(reader, tuned)
    assertContains(response, "vm.swappiness: <b>1</b>, not set before", html=True)
    assertContains(response, "<h2>Best: steps 1 to 2, +30.0% (")
    assert figure_of(response)["data"][1]["y"] == ["1. memory", "2. os"]
    rows = rows_of(reader.get(reverse("tuning-csv", args=[tuned.pk, "effects"])))
    assert "vm.swappiness 1, not set before" in rows[1]["changed"].split("; ")


def test_settings_of_the_operating_system_are_taken_away_for_sysctl_d_and_by_hand(reader, tuned):
    assertContains(page(reader, tuned), "For /etc/sysctl.d")
    text = reader.get(reverse("tuning-settings", args=[tuned.pk, 2, "sysctl.conf"])).content.decode().splitlines()
    assert sorted(text[1:], reverse=True) == [
        "vm.swappiness = 1",
        "# not set by sysctl: transparent_hugepage = never",
        "# not set by sysctl: cpu_governor = performance",
        "# at each start: echo performance | tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
        "# at each start: echo never | tee /sys/kernel/mm/transparent_hugepage/enabled",
    ]
    assertNotContains(page(reader, tuned), f"/tuning/{tuned.pk}/settings/1/sysctl.conf")


def test_two_repeats_are_not_tested_and_say_so(reader, make_series):
    series = make_series({(): 1000.0, (1,): 1500.0}, repeats=(-0.2, 0.2), steps=[("memory", {"work_mem": "1GB"})])
    response = page(reader, series)
    assertContains(response, "+50%, not tested: 2 repeats")
    assertContains(response, "Fastest as measured: step 1 (memory), +50% over the baseline; not tested: 2 repeats.")
    assertNotContains(response, "Best: step")


def test_a_series_of_which_nothing_is_measured_yet_shows_no_effect(reader, make_series):
    series = make_series({(): 0, (1,): 0}, steps=[("memory", {"work_mem": "1GB"})])
    response = page(reader, series)
    assertContains(response, "Nothing to compare yet: no step has a result.")
    assertContains(response, "no result yet")
    assertContains(response, "every 5s")
    assertNotContains(response, "Best:")
    assertNotContains(response, "figure-steps")


def test_a_result_in_another_unit_is_in_no_effect_figure_or_price(reader, make_series):
    series = make_series({(): 1000.0, (1,): 1100.0, (1, 2): 90_000.0}, steps=[*STEPS[:2]])
    Result.objects.filter(run__system=series.treatments.get(place=2).system).update(unit="MQTh")
    response = page(reader, series)
    assertContains(response, "Not in TPS, and so not compared with the others: System (1, 2) (MQTh).")
    assertContains(response, "Best: step 1 (memory)")
    drawn = [name for trace in figure_of(response)["data"] for name in trace["y"]]
    assert "1. memory" in drawn and "2. wal" not in drawn
    assertNotContains(response, "90,000")


def test_before_the_first_result_no_unit_is_taken_for_granted(reader, make_series):
    response = page(reader, make_series({(): 0, (1,): 0}, steps=STEPS[:1]))
    assertContains(response, '<th scope="col" class="n">Throughput</th>', html=True)
    assertNotContains(response, "TPS")


def test_a_step_that_loses_leaves_the_baseline_the_best(reader, make_series):
    series = make_series({(): 1000.0, (1,): 900.0}, steps=[("memory", {"work_mem": "1GB"})])
    response = page(reader, series)
    assertContains(response, "The baseline is the fastest as measured: no step is shown to raise throughput.")
    assertContains(response, "-10.0% (-10.4 to -9.6%)")


def test_where_the_baseline_is_the_best_it_is_drawn_with_all_steps_together(reader, make_series):
    throughput = {(): 1000.0, (1,): 900.0, (1, 2): 950.0}
    lost = page(reader, make_series(throughput, steps=STEPS[:2])).context["page"]
    together = lost.series.typical_run(lost.series.treatments[2])
    assert lost.over_time_address.endswith(f"?with={together}#timeline")
    alone = {(): 1000.0, (1,): 900.0, (2,): 950.0}
    apart = page(reader, make_series(alone, kind="one-at-a-time", steps=STEPS[:2], name="Apart"))
    assert apart.context["page"].over_time_address == ""


def test_a_series_is_compared_and_published_without_prices_once_something_is_measured(reader, make_series):
    assertNotContains(page(reader, make_series({(): 0, (1,): 0}, steps=STEPS[:1])), "Compare and publish")
    measured = page(reader, make_series({(): 1000.0, (1,): 1100.0}, steps=STEPS[:1], name="Measured"))
    assertContains(measured, "Compare and publish")


def test_a_factorial_shows_effects_and_interactions_and_that_the_best_was_lucky(reader, make_series):
    throughput = {(): 1000.0, (1,): 1200.0, (2,): 1100.0, (1, 2): 1500.0}
    series = make_series(
        throughput, kind="factorial", steps=[("memory", {"work_mem": "1GB"}), ("wal", {"fsync": "on"})]
    )
    response = page(reader, series)
    assertContains(response, "Best: memory + wal, +50.0%")
    assertContains(response, "1 with 2: memory with wal")
    assertContains(response, "together +13.6%")
    assertContains(response, "was partly lucky")
    figure = figure_of(response)
    assert figure["data"][0]["y"] == ["1. memory", "2. wal", "1 with 2"]


def test_steps_one_at_a_time_are_never_called_together(reader, make_series):
    response = page(reader, make_series({(): 1000.0, (1,): 1120.0, (2,): 1060.0, (3,): 1900.0}, kind="one-at-a-time"))
    assertContains(response, "Best: step 1 (memory), +12.0%")
    assertContains(response, "nobody has measured them together")
    assertNotContains(response, "All 3 steps together")


def test_the_page_asks_as_many_queries_for_many_steps_as_for_one(
    reader, make_series, prices, django_assert_max_num_queries
):
    steps = [(f"step {number}", {"work_mem": f"{number}MB"}) for number in range(1, 11)]
    throughput = {tuple(range(1, number + 1)): 1000.0 + 50 * number for number in range(11)}
    series = make_series(throughput, steps=steps)
    with django_assert_max_num_queries(SERIES_QUERIES):
        page(reader, series)


def test_the_list_has_every_series_with_its_progress(reader, cumulative):
    response = reader.get(reverse("tuning-list"))
    assertContains(response, "Night")
    assertContains(response, f"{Run.objects.count()} of {Run.objects.count()}")


def test_a_value_that_a_file_cannot_hold_is_refused_in_words(reader, make_series):
    series = make_series({(): 1000.0, (1,): 1100.0}, steps=[("odd", {"search_path": "a\\b"})])
    assertContains(page(reader, series), "holds a backslash")
    address = reverse("tuning-settings", args=[series.pk, 1, "postgresql.conf"])
    assertContains(reader.get(address, follow=True), "postgresql.conf cannot be written")


def test_prices_lead_to_the_comparison_of_the_configurations_that_may_be_compared(reader, cumulative, prices):
    experiment = cumulative.experiment_id
    systems = list(cumulative.treatments.order_by("place").values_list("system", flat=True))
    curves = "&amp;".join(f"curve={experiment}-{system}" for system in systems[:3])  # the last is less durable
    response = page(reader, cumulative)
    assertContains(response, f'href="{reverse("compare")}?{curves}"')
    assertNotContains(response, f"curve={experiment}-{systems[3]}")


def test_the_experiment_leads_to_its_series_and_another_to_none(reader, cumulative):
    address = reverse("tuning-series", args=[cumulative.pk])
    assertContains(reader.get(reverse("experiment", args=[cumulative.experiment_id])), f'href="{address}"')
