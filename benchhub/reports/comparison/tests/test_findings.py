from datetime import UTC, datetime, timedelta

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.analysis.curves import peak
from benchhub.bench import testing
from benchhub.bench.models import Result, Run
from benchhub.catalog.models import Hardware
from benchhub.reports.comparison.state import Ceiling
from benchhub.reports.curves import peaks
from benchhub.reports.testing import address, both, key, rows_of, variant

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_the_peaks_are_compared_without_picking_the_best(reader, repeated, systems):
    rows = rows_of(reader.get(both(repeated, systems, csv="findings")))
    at_peak = next(row for row in rows if row["where"].startswith("the peaks"))
    assert float(at_peak["ratio"]) == pytest.approx(1.12)
    assert at_peak["verdict"] == "more"


def test_the_geometric_mean_over_the_levels_is_said(reader, repeated, systems):
    # (301 / 300 x 1120 / 1000 x 990 / 900) ^ (1/3) = 1.0733
    assertContains(
        reader.get(both(repeated, systems)),
        "Over all 3 levels together (geometric mean) PostgreSQL 18 gives 1.07x the throughput of PostgreSQL 16",
    )


def test_hardware_that_is_the_same_leaves_the_ratio_per_core_as_it_is(reader, repeated, systems):
    rows = {row["where"]: row for row in rows_of(reader.get(both(repeated, systems, csv="findings")))}
    assert float(rows["per core"]["ratio"]) == pytest.approx(1.12)
    assert "per GHz of all cores" not in rows  # the clock is not known


def test_half_the_cores_with_as_much_throughput_give_twice_as_much_per_core(reader, repeated, systems):
    half = Hardware.objects.create(name="Half", sockets=1, cores_per_socket=10, clock_ghz="2.5")
    smaller = variant(systems[0], label="Half of it", hardware_id=half.pk)
    again = testing.make_experiment([smaller], name="Smaller")
    for repeat, tps in enumerate((1000.0, 1010.0, 990.0), start=1):
        testing.succeeded(testing.make_run(again, smaller, 8, repeat), tps)
    page = address(key(repeated, systems[0]), key(again, smaller), csv="findings")
    rows = {row["where"]: row for row in rows_of(reader.get(page))}
    assert float(rows["per core"]["ratio"]) == pytest.approx(2.0, rel=0.001)
    assert rows["per core"]["verdict"] == "more"


def test_under_a_latency_ceiling_only_levels_whose_every_run_kept_it_count(reader, repeated, systems):
    response = reader.get(both(repeated, systems, ceiling_ms="5"))  # 1 client needs 3.3 ms, 8 need 7 or 8
    assertContains(
        response,
        "With an average latency of at most 5 ms PostgreSQL 18 and PostgreSQL 16 are not distinguishable: 1.00x",
    )
    assertContains(
        response, "PostgreSQL 18 is best at 1 client (8 clients did not keep it: the best level may lie between)"
    )
    assertContains(reader.get(both(repeated, systems, ceiling_ms="1")), "No level of PostgreSQL 18 kept")


def test_a_ceiling_that_is_none_is_refused_beside_the_field_and_kept(reader, repeated, systems):
    response = reader.get(both(repeated, systems, ceiling_ms="fast"))
    assertContains(response, "&#x27;fast&#x27; is no latency: write milliseconds such as 2.5.")
    assertContains(response, 'value="fast"')


@pytest.mark.parametrize(
    ("text", "value"), [("", None), (" 2.5 ", 2.5), ("2,5", 2.5), ("0", None), ("nan", None), ("inf", None)]
)
def test_a_ceiling_is_a_number_of_milliseconds(text, value):
    ceiling = Ceiling.read(text)
    assert ceiling.value_ms == value
    assert bool(ceiling.error) == (value is None and bool(text.strip()))


def test_the_noise_of_the_host_is_said_with_the_repeats_that_3_per_cent_need(reader, repeated, systems):
    response = reader.get(both(repeated, systems))
    # Repeats at -1, 1, 0, 0.5 and -0.5%: s = sqrt(2.5 / 4) = 0.79%
    assertContains(response, "On box one run scatters by 0.79% (standard deviation among repeats, 24 degrees")
    assertContains(response, "Seeing a difference of 3% there in 80 of 100 cases needs 3 repeats of each.")
    assertContains(response, "noise between experiments is not known")


def test_a_system_measured_again_tells_the_noise_between_experiments(reader, repeated, systems):
    again = testing.make_experiment(systems, name="Next day")
    for repeat in (1, 2, 3):
        run = testing.make_run(again, systems[0], 8, repeat)
        testing.succeeded(run, 1100.0 + repeat)
    response = reader.get(both(repeated, systems))
    # ln(1102 / 1000) = 0.0971; 5 x 3 / 8 x 0.0971^2 = 0.0177 of 1 degree; over 8 - (25 + 9) / 8 = 3.75 repeats
    assertContains(response, "The same system measured again in another experiment scatters by 6.9% beyond that")


def test_two_repeats_leave_no_expert_figures_and_say_why(reader, experiment, systems):
    response = reader.get(both(experiment, systems))
    assertContains(response, "No level has three repeats of both")
    assertNotContains(response, "geometric mean) ")


def test_each_curve_has_a_verdict(reader, repeated, systems):
    Result.objects.filter(run__system=systems[1]).update(doubts=[{"code": "rate", "text": "They disagree."}])
    response = reader.get(both(repeated, systems))
    assertContains(
        response, '<b>Not to be relied on:</b><span class="one"><span class="key key-1"></span>PostgreSQL 18<'
    )
    assertContains(
        response,
        '<b>No reason for doubt was found:</b><span class="one"><span class="key key-0"></span>PostgreSQL 16<',
    )


def test_a_run_that_read_far_more_than_its_fellows_is_a_doubt(reader, repeated, systems):
    for place, run in enumerate(repeated.runs.filter(system=systems[0], clients=8)):
        testing.with_everything(run)
        run.found.deltas = {"pg_stat_database": {"blks_read": 123_456 if place else 1_234_560}}
        run.found.save()
    assertContains(reader.get(both(repeated, systems)), "read 10 blocks per transaction, the others there about 1:")


def test_levels_in_words():
    assert peaks.clients((1,)) == "1 client"
    assert peaks.clients((8,)) == "8 clients"
    assert peaks.clients((1, 2)) == "1 or 2 clients"
    assert peaks.clients((1, 2, 8)) == "1 to 8 clients"


@pytest.fixture
def listed(repeated):
    """The same runs, but one system after the other, level by level: a minute each."""
    for place, run in enumerate(repeated.runs.order_by("system", "position")):
        Run.objects.filter(pk=run.pk).update(started_at=NOON + place * timedelta(minutes=1))
    return repeated


def test_systems_that_ran_one_after_the_other_have_no_interval_and_no_verdict(reader, listed, systems):
    response = reader.get(both(listed, systems))
    assertContains(response, "The difference of PostgreSQL 16 and PostgreSQL 18 has neither interval nor verdict: ")
    assertContains(response, "Run them in one experiment, repeat by repeat or at random.")
    sentence = (
        "PostgreSQL 18 gives 1.12x the throughput of PostgreSQL 16 at 8 clients (5 repeats each), but nothing says"
    )
    assertContains(response, sentence)
    assertContains(response, ">no verdict</span>", count=6)  # of a lane and of a cell at each level
    assertContains(response, "The repeats of each level were run in a row", count=1)  # once for both
    for absent in ("between 1.", "At their peaks", "(geometric mean)", "tells the two apart at"):
        assertNotContains(response, absent)
    rows = rows_of(reader.get(both(listed, systems, csv="findings")))
    assert [row["where"] for row in rows] == ["1 client", "8 clients", "32 clients", "all 3 levels"]
    assert {(row["low"], row["high"], row["p"], row["p_of_several"], row["verdict"]) for row in rows} == {
        ("", "", "", "", "withheld")
    }
    levels = rows_of(reader.get(both(listed, systems, csv="levels")))
    assert {(row["ratio_lowest"], row["ratio_kind"]) for row in levels if row["ratio_verdict"]} == {("", "withheld")}


def test_repeats_in_a_row_have_no_interval_of_mean_and_peak_and_the_law_is_not_fitted(reader, listed, systems):
    page = reader.get(f"/experiments/{listed.pk}/")
    assertContains(page, "PostgreSQL 16 has no intervals: the repeats of each level were run in a row")
    assertContains(page, "No peak is estimated: the repeats of each level were run in a row", count=2)
    assertNotContains(page, ">95% interval<")
    assertContains(reader.get(both(listed, systems)), "It is not fitted to PostgreSQL 16")


def test_in_turns_nothing_is_withheld(reader, repeated, systems):
    response = reader.get(both(repeated, systems))
    assertNotContains(response, "no verdict")
    assertNotContains(response, "Run them in one experiment")


def test_the_api_gives_no_interval_either(reader, listed, systems):
    query = "&".join(f"curve={key(listed, system)}" for system in systems)
    answer = reader.get(f"/api/v1/comparisons/?{query}").json()
    other = [row for row in answer["ratios"] if row["key"] == key(listed, systems[1])]
    assert {(row["lowest"], row["highest"], row["verdict"]) for row in other} == {(None, None, "withheld")}
    assert all(row["withheld"].startswith("they were run one after the other") for row in other)
    assert answer["curves"][0]["withheld"].startswith("the repeats of each level")
    assert {level["low_to_high_is"] for level in answer["curves"][0]["levels"]} == {"range of repeats"}


def test_prices_of_systems_that_ran_one_after_the_other_have_no_lowest(reader, listed, systems, prices):
    response = reader.get(both(listed, systems))
    assertContains(response, "no verdict against")
    assertNotContains(response, '<span class="tag">lowest</span>')
    assertNotContains(response, "95% interval of the geometric mean of 5 repeats")


def test_tuning_steps_that_were_made_one_after_the_other_have_no_verdict(reader, listed, systems):
    query = "&".join(f"curve={key(listed, system)}" for system in systems)
    response = reader.get(f"/compare/steps/?{query}")
    assertContains(response, "The step gives 1.07x the throughput of PostgreSQL 16, but nothing says how sure this is")
    [row] = rows_of(reader.get(f"/compare/steps/?{query}&csv=steps"))
    assert (row["low"], row["high"], row["p"], row["verdict"]) == ("", "", "", "withheld")


def test_the_peaks_are_said_in_plain_words(reader, repeated, systems):
    assertContains(
        reader.get(both(repeated, systems)),
        "At their peaks PostgreSQL 18 gives 1.12x the throughput of PostgreSQL 16, between 1.10 and 1.14, 5 repeats. "
        "That compares 1,120 with 1,000 TPS, geometric means of the repeats. "
        "PostgreSQL 18 peaks at 8 clients, PostgreSQL 16 at 8 clients.",
    )


def test_peaks_are_the_geometric_means_of_the_best_levels_as_in_table_and_chart():
    """18 at 4 clients: (6,820 x 6,900 x 6,100) ** (1/3) = 6,597; 16 there: (6,980 x 7,300 x 4,600) ** (1/3) = 6,166."""
    newer = {1: (3016.0, 2990.0, 5200.0), 4: (6820.0, 6900.0, 6100.0)}
    older = {1: (7421.0, 7580.0, 2560.0), 4: (6980.0, 7300.0, 4600.0)}
    claim = str(peaks.of_levels(newer, older, "18", "16", "at their peaks", "MQTh"))
    assert claim.startswith("At their peaks 18 and 16 are not distinguishable: 1.07x, ")
    assert "That compares 6,600 with 6,170 MQTh, geometric means of the repeats; the best of several levels" in claim


def test_the_best_level_under_a_ceiling_is_not_called_the_highest_that_was_run():
    levels = {4: (100.0, 101.0, 99.0), 8: (200.0, 201.0, 199.0), 16: (400.0, 401.0, 399.0)}
    within = {level: values for level, values in levels.items() if level < 16}
    assert peaks.place_of_kept(peak.selected(within), within, levels) == (
        "at 8 clients (16 clients did not keep it: the best level may lie between)"
    )
    falling = {4: (300.0, 301.0, 299.0), 8: (200.0, 201.0, 199.0)}
    assert peaks.place_of_kept(peak.selected(falling), falling, {**falling, 16: levels[16]}) == (
        "at 4 clients (the lowest level that was run: the peak may lie below it)"
    )
    assert "the highest level that was run" in peaks.place_of_kept(peak.selected(levels), levels, levels)


def test_a_peak_at_the_edge_of_the_sweep_is_called_so():
    levels = {8: (100.0, 101.0, 99.0), 16: (200.0, 201.0, 199.0)}
    assert peaks.place(peak.selected(levels), levels) == (
        "at 16 clients (the highest level that was run: the peak may lie beyond it)"
    )
    close = {4: (10.0, 10.1, 9.9), 8: (199.0, 202.0, 200.0), 16: (200.0, 201.0, 199.0)}
    assert peaks.place(peak.selected(close), close) == (
        "at 8 or 16 clients (the highest level that was run is among them: the peak may lie beyond it)"
    )
