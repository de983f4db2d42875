import pytest

from benchhub.reports.board import calendar, findings, trends


@pytest.fixture(autouse=True)
def nothing_cached():
    """Let no test see what another computed."""
    for cached in (calendar._of_queue, findings._verdict, trends._trends):
        cached.cache_clear()
