from datetime import UTC, date, datetime

from benchhub.catalog.models import LicenceModel
from benchhub.catalog.models.revised import counting_on


def revision(number, retired=None, name="Per core"):
    at = datetime(*retired, 12, tzinfo=UTC) if retired else None
    return LicenceModel(pk=number, name=name, revision=number, metric="core", retired_at=at)


FIRST, SECOND, THIRD = revision(1, (2026, 3, 1)), revision(2, (2026, 5, 1)), revision(3)


def on(month, day, *rows):
    return [row.pk for row in counting_on(date(2026, month, day), rows)]


def test_on_each_day_the_revision_counts_that_nobody_had_replaced_by_its_end():
    assert on(2, 28, THIRD, FIRST, SECOND) == [1]
    assert on(3, 1, THIRD, FIRST, SECOND) == [2]
    assert on(4, 30, THIRD, FIRST, SECOND) == [2]
    assert on(5, 1, THIRD, FIRST, SECOND) == [3]


def test_what_was_retired_counts_for_the_days_before_and_for_none_after():
    assert on(2, 28, FIRST) == [1]
    assert on(3, 1, FIRST) == []


def test_names_do_not_mix():
    other = revision(4, name="Per socket")
    assert on(3, 2, FIRST, SECOND, other) == [2, 4]
