from copy import deepcopy
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis import published
from benchhub.analysis.published import PublishedError
from benchhub.analysis.published.check import quotient, rounded
from benchhub.analysis.published.document import Between, Figure
from benchhub.analysis.published.testing import PARSED, changed, document, only


def test_a_changed_price_changes_the_verdict():
    number = next(index for index, row in enumerate(PARSED["A"]["figure"]) if row["id"] == "ppas-944-subscription")
    report_checks = published.recompute(document("A", changed("A", "figure", number, value="2.04", printed="€ 2.04")))
    [check] = [check for check in report_checks if check.subject == "PPAS 9.4.4, with subscription"]
    assert check.verdict == "disagrees"  # 2.0273 is 2.03, to the nearest and rounded up
    assert "not € 2.04" in check.why


def test_a_derived_figure_that_does_not_follow_disagrees():
    report_checks = published.recompute(document("D", changed("D", "derived", 3, high="338619")))
    [check] = [check for check in report_checks if check.subject == "MQTh, in memory, 32 drivers"]
    assert check.verdict == "disagrees"


def figure(value):
    return Figure("place", "what", str(value), value, "", "1")


def test_a_quotient_of_rounded_numbers_is_consistent_where_the_intervals_meet_and_only_there():
    def verdict(low, high):
        room = Between(Fraction("1.37"), Fraction(low), Fraction(high))
        return quotient(figure(Decimal("1.5")), room.middle, "a / b", group="g", report="A", room=room).verdict

    assert verdict("1.37", "1.37") == "disagrees"
    assert verdict("1.30", "1.44") == "disagrees"
    assert verdict("1.30", "1.45") == "consistent"


cents = st.integers(1, 10**6).map(lambda whole: Decimal(whole).scaleb(-2))
numbers = st.integers(1, 10**9)


@given(numbers, numbers)
def test_what_was_rounded_to_the_nearest_always_agrees(dividend, divisor):
    exact = Fraction(dividend, divisor)
    check = quotient(figure(rounded(exact, 2)), exact, "a / b", group="g", report="A")
    assert check.verdict == "agrees"
    assert abs(Fraction(check.value) - exact) <= Fraction(1, 200)


@given(cents, numbers, numbers)
def test_a_verdict_is_of_the_distance_alone(published_value, dividend, divisor):
    exact = Fraction(dividend, divisor)
    check = quotient(figure(published_value), exact, "a / b", group="g", report="A")
    difference = Fraction(published_value) - exact
    if check.verdict == "agrees":
        assert abs(difference) <= Fraction(1, 200)
    elif check.verdict == "rounded up":
        assert Fraction(1, 200) < difference < Fraction(1, 100)
    else:
        assert difference <= -Fraction(1, 200) or difference >= Fraction(1, 100)


@given(st.lists(st.integers(1, 10**6), min_size=6, max_size=6))
def test_a_quotient_of_intervals_holds_every_quotient_of_their_ends(ends):
    (low, middle, high), (low2, middle2, high2) = (sorted(map(Fraction, half)) for half in (ends[:3], ends[3:]))
    ratio = Between(middle, low, high).over(Between(middle2, low2, high2))
    assert all(
        ratio.low <= dividend / divisor <= ratio.high for dividend in (low, middle, high) for divisor in (low2, high2)
    )
    assert ratio.low <= ratio.middle <= ratio.high


@pytest.mark.parametrize(
    ("letter", "kind", "number", "fields", "message"),
    [
        (
            "A",
            "figure",
            0,
            {"value": 38364.0},
            "report-a.toml, figure 1 's822l-price': 'value' must be text, in quotes",
        ),
        ("A", "figure", 0, {"value": "many"}, "figure 1 's822l-price': 'value' is 'many', which is not a number."),
        ("A", "figure", 0, {"value": "NaN"}, "figure 1 's822l-price': 'value' is 'NaN', which is not a number."),
        ("A", "figure", 1, {"id": "s822l-price"}, "figure 2 's822l-price': the id is already that of"),
        ("A", "figure", 0, {"price": "1"}, "figure 1 's822l-price': 'price' is unknown; use id, what"),
        ("A", "result", 3, {"clients": "28.5"}, "report-a.toml, result 4: 'clients' is 28.5, which is not a whole"),
        ("A", "system", 0, {"tps": "nobody"}, "'tps' names the figure 'nobody', which is not there."),
        ("C", "step", 2, {"gain_percent": "six"}, "report-c.toml, step 3: 'gain_percent' is 'six'"),
        ("D", "part", 1, {"hybrid": "-"}, "part 2 'Second Xeon X7560': 'hybrid' is '-', which is not a number."),
        ("D", "system", 1, {"mqth": "gone"}, "report-d.toml: no derived rows have id 'gone'; there must be one."),
        ("D", "system", 1, {"drivers": "5"}, "report-d.toml: no system rows have name 'in memory', drivers '4'"),
        ("D", "figure", 2, {"value": "0"}, "report-d.toml: a figure that others are divided by is 0."),
        ("A", "result", 3, {"latency_ms": "0"}, "report-a.toml, result 4: 'latency_ms' is 0, which is not above 0."),
        ("A", "result", 3, {"ratio": "3:1"}, "result 4: 'ratio' is '3:1'; use one of 1:1, 2:1."),
        ("A", "result", 6, {"scale": "100"}, "2 result rows have counted 'including', build '9.4.4', ratio '2:1'"),
        (
            "A",
            "result",
            3,
            {"scale": "1"},
            "no result rows have build '9.4.4', counted 'including', ratio '1:1', scale",
        ),
        ("B", "facts", 0, {"values": {"Memory": 128}}, "facts 1 'Hardware': 'values', 'Memory' must be text"),
    ],
)
def test_bad_data_is_refused_with_its_place(letter, kind, number, fields, message):
    with pytest.raises(PublishedError) as refusal:
        published.recompute(document(letter, changed(letter, kind, number, **fields)))
    assert message in str(refusal.value)


def test_what_is_missing_is_named():
    parsed = deepcopy(PARSED["A"])
    del parsed["figure"][0]["section"]
    with pytest.raises(PublishedError, match="figure 1 's822l-price': 'section' is missing"):
        document("A", parsed)
    with pytest.raises(PublishedError, match="the table \\[report\\] is missing"):
        document("A", {"figure": []})
    with pytest.raises(PublishedError, match="there are no rows named 'prices'"):
        document("A", {**PARSED["A"], "prices": []})
    with pytest.raises(PublishedError, match="the letter is 'E'"):
        document("A", {"report": {**PARSED["A"]["report"], "letter": "E"}})


def test_a_figure_that_a_report_needs_is_missed_by_its_name():
    parsed = deepcopy(PARSED["C"])
    parsed["figure"] = [row for row in parsed["figure"] if row["id"] != "memory"]
    with pytest.raises(PublishedError, match=r"report-c\.toml: there is no figure with the id 'memory'"):
        published.recompute(document("C", parsed))


def test_a_figure_that_its_own_interval_does_not_reach_disagrees_still():
    [gain] = [
        check
        for check in published.recompute(document("C", changed("C", "figure", 0, value="46", printed="46%")))
        if check.group == "Gains"
    ]
    assert gain.verdict == "disagrees"  # 45.5 to 46.5 lies above 45.4
    assert not only("D", "Ratios", "In memory against hybrid, at most").survives  # 'up to' is a bound, not rounded
