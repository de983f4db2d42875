from fractions import Fraction

import pytest

from benchhub.analysis import published
from benchhub.analysis.published.check import rounded, tally
from benchhub.analysis.published.testing import PARSED, changed, checks, document, only

MEAN_OF_5 = "95% interval of a mean of 5 trials, each way"


# (38,364 + 3 x 2 x 4,200) = 63,564; (61,179 + 3 x 60 x 1,800) = 385,179
@pytest.mark.parametrize(
    ("subject", "exact", "computed", "difference", "verdict"),
    [
        ("PostgresPURE 9.4.4, hardware only", Fraction(38364, 365974), "0.1048", "0.0052", "rounded up"),
        ("PostgresPURE 9.5 Beta 1, hardware only", Fraction(38364, 492072), "0.0780", "0.0020", "agrees"),
        ("PPAS 9.4.4, hardware only", Fraction(61179, 190000), "0.3220", "-0.0020", "agrees"),
        ("PPAS 9.5 develop, hardware only", Fraction(61179, 360000), "0.1699", "0.0001", "agrees"),
        ("PostgresPURE 9.4.4, with subscription", Fraction(63564, 365974), "0.1737", "-0.0037", "agrees"),
        ("PostgresPURE 9.5 Beta 1, with subscription", Fraction(63564, 492072), "0.1292", "0.0008", "agrees"),
        ("PPAS 9.4.4, with subscription", Fraction(385179, 190000), "2.0273", "0.0027", "agrees"),
        ("PPAS 9.5 develop, with subscription", Fraction(385179, 360000), "1.0699", "0.0001", "agrees"),
    ],
)
def test_of_eight_prices_one_was_rounded_up_and_seven_to_the_nearest(subject, exact, computed, difference, verdict):
    check = only("A", "Price per TPS", subject)
    assert check.exact == exact
    assert (str(check.computed), str(check.difference), check.verdict) == (computed, difference, verdict)


@pytest.mark.parametrize(
    ("subject", "published_as", "computed", "verdict"),
    [
        ("PostgresPURE 9.4.4 on S822L, times the performance", "2x", "1.93", "agrees"),  # 365,974 / 190,000
        ("PostgresPURE 9.5 Beta 1 on S822L, times the performance", "1.5x", "1.37", "disagrees"),  # 492,072 / 360,000
        ("PostgresPURE 9.4.4 on S822L, times cheaper", "12x", "11.67", "agrees"),  # 2.02726 / 0.17369
        ("PostgresPURE 9.5 Beta 1 on S822L, times cheaper", "8x", "8.28", "agrees"),  # 1.06994 / 0.12918
    ],
)
def test_of_four_conclusions_one_is_not_what_its_numbers_say(subject, published_as, computed, verdict):
    check = only("A", "Conclusions", subject)
    assert (check.published, str(check.computed), check.verdict) == (published_as, computed, verdict)


@pytest.mark.parametrize(
    ("group", "subject", "computed", "verdict"),
    [
        ("Benchmark time", "Client levels", "80", "agrees"),  # (160 - 2) / 2 + 1
        ("Benchmark time", "Minutes of benchmark time", "6400", "agrees"),  # 2 x 4 x 2 x 80 x 5
        ("Benchmark time", "Hours of benchmark time", "106.67", "agrees"),  # 6,400 / 60, printed as 107
        ("Benchmark time", "Hours of testing, in the conclusions", "106.67", "disagrees"),  # printed as 160
        ("Derived, not printed", "Runs planned", "1280", "agrees"),  # 2 x 4 x 2 x 80
        ("Table of results", "Most clients of any peak in the table of results", "292", "disagrees"),  # beyond 160
        ("Machine", "Size of each of the 4 SAS disks, environment", "300", "disagrees"),  # 387 elsewhere
        ("Machine", "CPUs in the virtual machine", "160", "agrees"),  # 4 x 5 x 8
        ("Machine", "Memory of the S822L", "256", "agrees"),  # 268,435,456 KiB / 1,048,576
    ],
)
def test_the_plan_and_the_machine_of_report_a_are_added_up_again(group, subject, computed, verdict):
    check = only("A", group, subject)
    assert (f"{check.computed:f}", check.verdict) == (computed, verdict)


# TPS x latency, by hand: 423,148 x 0.123 / 1,000 = 52.0. Each row is scale 100, 300, 1,000, 3,000.
IMPLIED = {
    ("9.4.4", "including", "1:1"): ("52.0", "56.1", "59.9", "56.0"),
    ("9.4.4", "including", "2:1"): ("47.9", "52.1", "51.9", "48.0"),
    ("9.4.4", "excluding", "1:1"): ("543.8", "256.4", "60.1", "56.1"),
    ("9.4.4", "excluding", "2:1"): ("580.9", "575.8", "383.5", "48.1"),
    ("9.5 Beta 1", "including", "1:1"): ("85.9", "60.1", "117.7", "103.8"),
    ("9.5 Beta 1", "including", "2:1"): ("83.0", "80.5", "80.8", "145.6"),
    ("9.5 Beta 1", "excluding", "1:1"): ("86.0", "60.2", "117.8", "104.1"),
    ("9.5 Beta 1", "excluding", "2:1"): ("85.3", "80.9", "80.0", "146.1"),
}
CONTRADICTED = {
    ("9.4.4", "including", "1:1"): (True, True, True, True),
    ("9.4.4", "excluding", "1:1"): (True, True, True, True),
    ("9.4.4", "excluding", "2:1"): (True, True, True, False),
}


@pytest.mark.parametrize("column", IMPLIED)
def test_littles_law_is_held_against_every_cell(column):
    build, counted, ratio = column
    column_checks = [
        only("A", f"Little's law, {counted} connecting", f"{build}, {ratio}, scale {scale}: clients")
        for scale in ("100", "300", "1,000", "3,000")
    ]
    assert tuple(str(rounded(check.exact, 1)) for check in column_checks) == IMPLIED[column]
    assert tuple(not check.survives for check in column_checks) == CONTRADICTED.get(column, (False,) * 4)


def test_a_cell_says_what_its_latency_implies_for_clients_and_for_tps():
    check = only("A", "Little's law, excluding connecting", "9.4.4, 2:1, scale 100: clients")
    assert "709,271 TPS x 0.819 ms = 580.89 clients" in check.steps[1]
    assert check.steps[2] == "The other way: 260 clients / 0.819 ms = 317,460 TPS."  # 260 / 0.000819
    assert "709,271 are printed" in check.why


def test_a_cell_within_five_per_cent_agrees_and_says_that_rounding_does_not_explain_it():
    check = only("A", "Little's law, including connecting", "9.5 Beta 1, 2:1, scale 100: clients")
    assert check.survives  # 82.98 against 80
    assert "3.7% apart: more than rounding, within the 5% that is allowed" in check.why


def test_excluding_is_below_including_in_one_cell_of_sixteen():
    group_checks = [check for check in checks("A") if check.group == "Excluding against including connecting"]
    assert len(group_checks) == 16
    [failure] = [check for check in group_checks if not check.survives]
    assert failure.subject.startswith("9.5 Beta 1, 2:1, scale 1,000")
    assert str(failure.difference) == "-5700"  # 529,554 - 535,254
    assert "give 529,801" in failure.why  # 80 / 0.000151


@pytest.mark.parametrize(
    ("group", "subject", "computed", "verdict"),
    [
        ("Against x86", "Cores of POWER8 as a share of x86", "0.25", "agrees"),  # 20 / 80
        ("Against x86", "Throughput of POWER8 in per cent of x86", "40", "agrees"),  # 8,400 / 21,000
        ("Derived, not printed", "Peak per physical core, POWER8", "420", "agrees"),  # 8,400 / 20
        ("Machines", "Threads of the Power 780", "256", "agrees"),  # 64 x 4
        ("Peak", "That peak in multiples of the physical cores, from", "2.5", "agrees"),  # 50 / 20, within 2 to 3
        ("Peak", "Clients at the peak of the standard test, from", "48", "consistent"),  # about 50: 45 to 55
        ("Peak", "Clients at the peak of the standard test, to", "64", "consistent"),  # about 60: 55 to 65
        ("Spread", "Standard deviation from 40 clients, within that of every level", "1", "agrees"),
        ("Spread", "Clients from which the standard deviation is 1% at most", "48", "consistent"),  # 40 was not tested
        # 2.776 x 5% / 2.236, and a fifth of it
        (
            "Derived, not printed",
            f"{MEAN_OF_5}, at every level at most",
            "6.21",
            "agrees",
        ),
        (
            "Derived, not printed",
            f"{MEAN_OF_5}, from 40 clients at most",
            "1.24",
            "agrees",
        ),
        ("Custom script", "Rows that a transaction of the custom script counts", "10001", "disagrees"),
    ],
)
def test_report_b_is_computed_again(group, subject, computed, verdict):
    check = only("B", group, subject)
    assert (f"{check.computed:f}", check.verdict) == (computed, verdict)


def test_forty_per_cent_carries_what_about_leaves():
    # 8,350 / 21,500 = 38.8%, 8,450 / 20,500 = 41.2%
    assert "38.8% to 41.2%" in only("B", "Against x86", "Throughput of POWER8 in per cent of x86").why


def test_the_gains_of_report_c_compound_to_44_and_not_to_45_per_cent():
    check = only("C", "Gains", "All improvements together, throughput gained")
    # 1.12 x 1.02 x 1.06 x 1.07 x 1.09 x 1.02 = 1.440570466944
    assert str(rounded(check.exact, 4)) == "44.0570"
    assert check.verdict == "consistent"  # 45%, so 44.5 to 45.5, meets 40.0 to 45.4
    # Lowest: 1.115 x 1.015 x 1.055 x 1.065 x 1.085 x 1.015; highest: 1.12 x 1.02 x 1.06 x 1.075 x 1.09 x 1.025
    assert "40.0% to 45.4%" in check.why
    assert any("41.2%" in step for step in check.steps)  # without the sixth
    assert any("38%" in step for step in check.steps)  # 12 + 2 + 6 + 7 + 9 + 2


# Left for a step beside those listed: 1.445 / 1.4544 = 0.9935 to 1.455 / 1.4004 = 1.0390.
@pytest.mark.parametrize(
    ("subject", "published_interval", "verdict"),
    [
        ("Effect of a scheduler tip for x86 on throughput: not among the 45%", ("-2.5", "-1.5"), "agrees"),
        ("Gain of data and WAL on disks of their own, sandbox: not among the 45%", ("9.5", "10.5"), "agrees"),
        ("Gain of data and WAL on disks of their own, large: among the 45%", ("-0.5", "0.5"), "consistent"),
    ],
)
def test_what_report_c_tried_beside_its_steps_is_held_against_what_the_sum_leaves(subject, published_interval, verdict):
    check = only("C", "Beside the steps", subject)
    assert (str(check.published_low), str(check.published_high)) == published_interval
    assert (str(rounded(check.room.low, 1)), str(rounded(check.room.high, 1))) == ("-0.6", "3.9")
    assert check.verdict == verdict


def test_a_step_that_would_not_leave_the_sum_as_it_is_disagrees():
    number = next(n for n, row in enumerate(PARSED["C"]["figure"]) if row["id"] == "separate-disks-large")
    report_checks = published.recompute(document("C", changed("C", "figure", number, value="10", printed="10%")))
    [check] = [check for check in report_checks if "large: among" in check.subject]
    assert check.verdict == "disagrees"


@pytest.mark.parametrize(
    ("subject", "computed", "interval"),
    [
        # (20 - 13) / 20; 1 - 13.5 / 19.5 and 1 - 12.5 / 20.5
        ("Time that the restore of 256 GB saves", "35", ("31", "39")),
        # 20 / 13; 19.5 / 13.5 and 20.5 / 12.5
        ("Restore of 256 GB, times as fast", "1.5385", ("1.4444", "1.6400")),
    ],
)
def test_the_restore_of_report_c_is_derived_with_what_ca_leaves(subject, computed, interval):
    check = only("C", "Derived, not printed", subject)
    assert (str(check.computed), check.verdict) == (computed, "agrees")
    assert (str(check.computed_low), str(check.computed_high)) == interval


@pytest.mark.parametrize(
    ("letter", "group", "subject", "printed", "computed"),
    [
        ("A", "Price per TPS", "PostgresPURE 9.4.4, hardware only", ("0.105", "0.115"), ("0.1048", "0.1048")),
        # (423,148 - 0.5) x 0.1225 and (423,148 + 0.5) x 0.1235
        ("A", "Little's law, including connecting", "9.4.4, 1:1, scale 100: clients", ("25.5", "26.5"),
         ("51.84", "52.26")),
        # 8,350 / 21,500 and 8,450 / 20,500
        ("B", "Against x86", "Throughput of POWER8 in per cent of x86", ("39.5", "40.5"), ("39", "41")),
        ("B", "Peak", "Clients at the peak of the standard test, from", ("45", "55"), ("48", "48")),
        ("C", "Gains", "All improvements together, throughput gained", ("44.5", "45.5"), ("40.04", "45.44")),
        ("D", "Ratios", "In memory against hybrid, 32 drivers", ("4.1", "4.3"), ("4.25", "4.29")),
        # A bound has no rounding.
        ("D", "Ratios", "In memory against hybrid, at most", ("4", "4"), ("4.25", "4.29")),
    ],
)  # fmt: skip
def test_both_intervals_of_a_check_are_numbers(letter, group, subject, printed, computed):
    check = only(letter, group, subject)
    assert (str(check.published_low), str(check.published_high)) == printed
    assert (str(check.computed_low), str(check.computed_high)) == computed


def test_every_interval_holds_its_number_and_every_consistent_one_meets_the_other():
    for letter in "ABCD":
        for check in checks(letter):
            assert check.printed.low <= Fraction(check.value) <= check.printed.high, check.subject
            assert check.room.low <= check.exact <= check.room.high, check.subject
            if check.verdict == "consistent":
                assert check.printed.overlaps(check.room), check.subject


@pytest.mark.parametrize(
    ("group", "subject", "computed", "verdict"),
    [
        # 12,476 + 4,999 + 10,848 + 1,999 + 80,000 + 81,160 + 224,000
        ("Totals", "Total price, hybrid", "415482", "agrees"),
        # the same + 7,495 + 1,299 + 10,848
        ("Totals", "Total price, in memory with MAX5", "435124", "agrees"),
        ("Price per transaction", "Price per transaction, hybrid, 4 drivers", "21.5801", "agrees"),
        ("Price per transaction", "Price per transaction, in memory, 32 drivers", "1.2900", "agrees"),
        ("Ratios", "In memory against hybrid, 4 drivers", "3.60", "agrees"),  # 69,397.8 / 19,253.1
        ("Ratios", "In memory against hybrid, 32 drivers", "4.27", "consistent"),  # 4.2498 to 4.2910 meets 4.1 to 4.3
        ("Ratios", "In memory against hybrid, at least", "4.27", "agrees"),  # more than four times
        ("Ratios", "In memory against hybrid, at most", "4.27", "disagrees"),  # up to four times
        ("Ratios", "Price of in memory as a share of hybrid, at most", "0.2452", "agrees"),  # 1.29 / 5.26 < 1/4
    ],
)
def test_report_d_is_computed_again(group, subject, computed, verdict):
    check = only("D", group, subject)
    assert (f"{check.computed:f}", check.verdict) == (computed, verdict)


@pytest.mark.parametrize(
    ("subject", "room"),
    [
        ("MQTh, hybrid, 4 drivers", "19,249 to 19,258"),  # 415,482 / 21.585, / 21.575
        ("MQTh, in memory, 4 drivers", "69,342 to 69,453"),  # 435,124 / 6.275, / 6.265
        ("MQTh, hybrid, 32 drivers", "78,914 to 79,064"),  # 415,482 / 5.265, / 5.255
        ("MQTh, in memory, 32 drivers", "336,003 to 338,618"),  # 435,124 / 1.295, / 1.285
    ],
)
def test_throughput_of_report_d_is_derived_with_the_interval_that_a_cent_leaves(subject, room):
    check = only("D", "Derived, not printed", subject)
    assert check.survives
    assert room in check.why
    assert "not printed" in check.why


def test_the_ratio_at_32_drivers_says_how_far_its_interval_reaches():
    why = only("D", "Ratios", "In memory against hybrid, 32 drivers").why
    assert "4.2498 to 4.2910" in why  # 336,003 / 79,064 and 338,618 / 78,914
    assert "only an end of the interval to 4.2" in why


def test_a_price_a_conclusion_and_a_column_of_client_counts_do_not_survive_and_each_has_its_sentence():
    findings = published.findings(checks("A"))
    assert any(
        "hardware only" in finding and "0.1048" in finding and "0.11 was rounded up" in finding for finding in findings
    )
    assert any("1.37" in finding and "not 1.5x" in finding for finding in findings)
    [column] = [
        finding for finding in findings if finding.startswith("Client counts of PostgreSQL 9.4.4, 1:1, including")
    ]
    assert "in all 4 cells" in column
    assert "52.0 against 26, 56.1 against 28, 59.9 against 30, 56.0 against 28" in column
    assert not any("2:1, including" in finding for finding in findings)
    assert not any("0.17" in finding for finding in findings)


def test_every_check_explains_itself_and_none_stands_twice():
    for letter in "ABCD":
        report_checks = checks(letter)
        assert len({(check.group, check.subject) for check in report_checks}) == len(report_checks)
        assert all(
            check.section and check.published and check.why.endswith(".") and check.steps for check in report_checks
        )
        assert all(check.report == letter for check in report_checks)
        assert tally(report_checks).total == len(report_checks)


def test_every_figure_that_is_shipped_names_its_section():
    for letter in "ABCD":
        assert all(row.text("section") for rows in document(letter).rows.values() for row in rows)
