"""Components that pages draw alike."""

import pytest
from django.template import Context, Template
from django.utils.safestring import mark_safe

from benchhub.ui.templatetags.components import first_rows, sum_marked


def table_of(rows, **sizes):
    return first_rows(mark_safe("<table></table>"), rows=rows, things="levels", anchor="all", **sizes)


@pytest.mark.parametrize("rows", [0, 3, 4])
def test_few_rows_stand_without_a_button_for_all(rows):
    assert table_of(rows) == "<table></table>"


@pytest.mark.parametrize(("rows", "first"), [(5, 4), (16, 4), (17, 2)])
def test_of_many_rows_a_phone_shows_the_first_and_of_a_long_list_half_as_many(rows, first):
    html = table_of(rows)
    assert f'class="first-rows first-{first}">' in html
    assert "<table></table>" in html
    assert '<details class="all-rows" id="all">' in html and f"Show all {rows} levels" in html
    assert '<span class="when-open">Show only the first</span>' in html  # once all are there


def test_a_row_of_many_columns_counts_as_two_on_a_phone():
    assert 'class="first-rows first-2"' in table_of(4, columns=7)


def test_a_wide_page_folds_only_what_spares_a_screen():
    assert "is-long" not in table_of(36)  # 24 rows of 36 px beyond the 12 that stay
    assert "is-long" in table_of(37)
    assert "is-long" not in table_of(24, row_px=73)
    assert "is-long" in table_of(25, row_px=73)


def test_the_sum_of_a_verdict_is_marked_and_its_names_are_text():
    verdict = sum_marked("Cheapest: <PURE> on 18, 1,800.50 EUR over 3 years")
    assert verdict == 'Cheapest: &lt;PURE&gt; on 18, <b class="sum">1,800.50 EUR</b> over 3 years'
    assert sum_marked("Fastest: 18, 900 TPS at 8 clients") == "Fastest: 18, 900 TPS at 8 clients"


def row_with(doubts):
    return Template("{% folded_doubts doubts 'doubts' 2 8 %}").render(Context({"doubts": doubts}))


def test_the_doubts_of_a_row_are_folded_behind_their_number():
    html = row_with(["Too <few> repeats.", "Busy."])
    assert '<details id="doubts-2-8">' in html and ">2 doubts</span>" in html
    assert "<li>Too &lt;few&gt; repeats.</li>" in html


def test_a_row_without_doubts_has_nothing_to_unfold():
    assert row_with([]).strip() == ""
