from typing import cast

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.analysis.doubts.verdict import Verdict
from benchhub.bench import testing
from benchhub.reports.comparison.answers.doubts import Doubts
from benchhub.reports.comparison.entries import Entry
from benchhub.reports.testing import both

EDGE = "This is the highest level that was run: the peak may lie beyond it. Run more clients too."


def test_a_curve_whose_runs_are_sound_but_whose_peak_is_not_is_not_called_free_of_doubt():
    at_the_edge, other = cast("Entry", object()), cast("Entry", object())
    sound = Verdict(())
    doubts = Doubts((), ((at_the_edge, (EDGE,)),), ((at_the_edge, sound), (other, sound)))
    assert doubts.judged == [("sound, with a remark", [at_the_edge]), ("no reason for doubt was found", [other])]


@pytest.mark.django_db
def test_doubts_of_runs_and_missing_results_are_gathered(reader, experiment, systems):
    doubt = [{"code": "x", "text": "The client may be the limit."}]
    testing.succeeded(testing.make_run(experiment, systems[0], 16, 1), 800.0, doubts=doubt)
    testing.ended(testing.make_run(experiment, systems[0], 16, 2), "failed", "it broke")
    response = reader.get(both(experiment, systems))
    assertContains(response, "The client may be the limit.")
    assertContains(response, "PostgreSQL 16 at 16 clients")
    assertContains(response, "1 of 6 runs failed, so the curve has fewer points.")
    assertNotContains(response, "cancelled, so")
    testing.ended(testing.make_run(experiment, systems[0], 16, 3), "cancelled", "ada cancelled it")
    response = reader.get(both(experiment, systems))
    assertContains(response, "1 of 7 runs failed")
    assertContains(response, "1 of 7 runs was cancelled, so the curve has fewer points.")
