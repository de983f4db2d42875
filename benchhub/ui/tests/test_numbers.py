from datetime import UTC, datetime, timedelta, timezone

import pytest

from benchhub.analysis.planning.levels import levels_text as levels
from benchhub.analysis.words import duration, significant
from benchhub.ui.numbers import ago, chance, figure, measured, moment, percent, size


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (21_347.6, 3, "21,300"),
        (21_347.6, 4, "21,350"),
        (0.0123456, 3, "0.0123"),
        (1.2, 3, "1.20"),
        (999.96, 3, "1,000"),
        (0, 3, "0"),
        (7.0, 3, "7"),
        (9_999.0, 3, "9,999"),
        (123_456, 6, "123,456"),
        (16_000, 7, "16,000"),
        (12_345_678, 3, "12,300,000"),
        (-0.5, 3, "-0.500"),
    ],
)
def test_numbers_are_written_to_significant_digits(value, digits, text):
    assert significant(value, digits) == text


def test_the_exact_value_stands_in_the_title():
    assert figure(21_347.6) == '<data value="21347.6" title="21,347.6">21,300</data>'


def test_what_is_not_known_is_a_dash_and_not_zero():
    for text in (figure(None), percent(None), size(None), moment(None), measured(None)):
        assert "–" in text
        assert "0" not in text


@pytest.mark.parametrize(("count", "text"), [(0, "0 bytes"), (1023, "1023 bytes"), (2048, "2 KiB"), (5 << 30, "5 GiB")])
def test_sizes_are_written_in_powers_of_1024(count, text):
    assert f">{text}<" in size(count)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.6, "1 min"), (125, "2 min 5 s"), (3_900, "1 h 5 min"), (7_200, "2 h"), (None, "–")],
)
def test_durations_are_words(seconds, text):
    assert duration(seconds) == text


def test_times_are_utc_wherever_they_come_from():
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))
    assert moment(at) == moment(at.astimezone(UTC))
    assert 'datetime="2026-01-02T01:04:05Z" title="2026-01-02 01:04:05 UTC"' in moment(at)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(True, "", "yes"), (False, "", "no"), (287_123, "", "287,123"), ("on", "", "on"), (5, "s", "5 s")],
)
def test_facts_of_any_kind_are_written_as_people_read_them(value, unit, text):
    assert measured(value, unit) == text


def test_text_from_a_target_is_escaped():
    assert measured("<script>") == "&lt;script&gt;"


@pytest.mark.parametrize(("p", "text"), [(0.00001, "&lt; 0.0001"), (0.00123, "0.0012"), (0.347, "0.35"), (None, "–")])
def test_a_p_value_has_the_digits_that_matter(p, text):
    assert f">{text}<" in chance(p)


@pytest.mark.parametrize(
    ("clients", "text"),
    [([8], "8"), ([1, 2], "1 and 2"), ([1, 2, 1000], "1, 2 and 1,000"), (list(range(2, 161, 2)), "2..160:2")],
)
def test_levels_are_listed_and_many_of_them_spelled_as_ranges(clients, text):
    assert levels(clients) == text


def test_an_age_is_written_in_words_with_what_counts_it_on_in_the_browser():
    at = datetime.now(UTC) - timedelta(minutes=5)
    text = ago(at)
    assert text.startswith(f'<time class="label" datetime="{at:%Y-%m-%dT%H:%M:%SZ}" data-age-s="30')
    assert f'title="{at:%Y-%m-%d %H:%M:%S} UTC"' in text
    assert text.endswith(" ago</time>")
    assert "ago" not in ago(None)
