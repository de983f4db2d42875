"""Components that pages draw alike."""

import pytest
from django.utils.safestring import mark_safe

from benchhub.ui.templatetags.components import first_rows


def table_of(rows):
    return first_rows(mark_safe("<table></table>"), rows=rows, title="Show all levels", anchor="all")


@pytest.mark.parametrize("rows", [0, 3, 4])
def test_few_rows_stand_without_a_button_for_all(rows):
    assert table_of(rows) == "<table></table>"


@pytest.mark.parametrize(("rows", "first"), [(5, 4), (16, 4), (17, 2)])
def test_of_many_rows_a_phone_shows_the_first_and_of_a_long_list_half_as_many(rows, first):
    html = table_of(rows)
    assert f'class="first-rows first-{first}"' in html
    assert "<table></table>" in html
    assert '<details class="all-rows" id="all">' in html and "Show all levels" in html
    assert f"Show only the first {first}" in " ".join(html.split())  # once all are there
