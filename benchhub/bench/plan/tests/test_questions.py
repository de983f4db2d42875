"""A new experiment starts with a question, and its form shows what that needs."""

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench.plan.questions import FREE, METHOD, QUESTIONS, question_of
from benchhub.bench.plan.testing import FREE_FORM, NEW

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("words", [{}, {"question": "no such"}, {"preset": "no such"}, {"question": "tune"}])
def test_a_new_experiment_starts_with_the_questions_and_no_field(planner, words):
    response = planner.get(NEW, words)
    for question in QUESTIONS.values():
        assertContains(response, f'href="{question.address}"')
        assertContains(response, question.title)
    assertNotContains(response, 'name="workload"')
    assertNotContains(response, "Queue</button>")


def test_the_questions_lead_on_to_the_instance_that_they_were_opened_for(planner):
    response = planner.get(NEW, {"instance": "7"})
    assertContains(response, 'href="/experiments/new?question=peak&amp;instance=7"')
    draft = planner.get(NEW, {"question": "builds", "instance": "7"}).context["page"].draft
    assert [system["instance"].value() for system in draft.systems] == ["7", None]
    assertNotContains(planner.get(NEW, {"instance": '"><b>'}), "instance=")


def test_to_compare_builds_begins_with_two_systems_and_three_runs_at_each_level(planner):
    response = planner.get(NEW, {"question": "builds"})
    draft = response.context["page"].draft
    assert len(draft.systems) == 2
    assert (draft.plan["repeats"].value(), draft.plan["levels"].value()) == (3, "1, 4, 16, 64")
    assertContains(response, '<details id="more">')
    assertContains(response, 'name="thread_rule"', count=1)


def test_to_find_the_peak_begins_with_a_search_on_one_system(planner):
    response = planner.get(NEW, {"question": "peak"})
    draft = response.context["page"].draft
    assert (len(draft.systems), draft.plan["grows"].value()) == (1, "peak")
    assertContains(response, '<details id="growing" open>')


def test_a_free_plan_folds_nothing_and_any_other_word_that_is_sent_is_one(planner):
    for response in (planner.get(FREE_FORM), planner.post(NEW, {"question": "no such", "show": "1"})):
        assert response.context["page"].question == FREE
        assertNotContains(response, '<details id="more"')
        assertContains(response, 'name="thread_rule"', count=1)
    assert question_of("builds").is_short and not FREE.is_short


def test_the_plan_of_a_published_method_asks_for_the_systems_and_folds_what_the_method_has(planner):
    response = planner.get(NEW, {"preset": "report-b"})
    assert response.context["page"].question == METHOD
    assertContains(response, '<details id="more">')
    assert response.context["page"].draft.plan["repeats"].value() == 5
    refused = planner.post(NEW, {"question": "method", "preset": "report-b", "queue": "1"})
    assert refused.context["page"].question == METHOD


def test_a_short_form_stays_short_and_opens_where_something_is_wrong_in_its_fold(planner):
    values = {"question": "builds", "queue": "1", "systems-TOTAL_FORMS": "2"}
    response = planner.post(NEW, values)
    assert response.context["page"].question.name == "builds"
    assertContains(response, '<details id="more" open>')
    folded = {"thread_rule": "clients", "priority": "0", "failure_limit": "3", "attempts_if_lost": "2", "rest_s": "0"}
    missing = response.context["page"].draft.plan.errors.keys() - {
        "name",
        "workload",
        "levels",
        "repeats",
        "duration_s",
    }
    start = planner.get(NEW, {"question": "builds"}).context["page"].draft.plan
    response = planner.post(
        NEW, {**values, **folded, **{name: start[name].value() for name in missing - folded.keys()}}
    )
    assertContains(response, '<details id="more">')


def test_a_short_form_has_a_name_already(planner):
    plan = planner.get(NEW, {"question": "peak"}).context["page"].draft.plan
    assert plan["name"].value().startswith("Find the peak, 20")
    assert not planner.get(NEW, {"question": "free"}).context["page"].draft.plan["name"].value()
