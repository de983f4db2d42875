"""A new experiment starts with a question, and its form shows what that needs."""

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench.plan.questions import FREE, QUESTIONS, question_of
from benchhub.bench.plan.testing import NEW

pytestmark = pytest.mark.django_db


def test_every_question_is_offered_with_its_words(planner):
    response = planner.get(NEW)
    for question in QUESTIONS.values():
        assertContains(response, f'href="{question.address}"')
        assertContains(response, question.title)


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


def test_a_free_plan_folds_nothing_that_it_had_and_any_other_word_is_one(planner):
    for words in ({}, {"question": "free"}, {"question": "no such"}, {"question": "method"}):
        response = planner.get(NEW, words)
        assert response.context["page"].question == FREE
        assertNotContains(response, '<details id="more"')
        assertContains(response, 'name="thread_rule"', count=1)
    assert question_of("builds").is_short


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
