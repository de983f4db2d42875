"""Configurations that start from a preset, scaled to the memory of a host."""

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.bench import testing
from benchhub.bench.tuning.testing import make_cluster
from benchhub.catalog.models import Configuration

pytestmark = pytest.mark.django_db
ADD = reverse("configuration-add")


@pytest.fixture
def host(db):
    host = testing.make_host("box")
    host.facts = {**host.facts, "memory_bytes": 8 << 30}
    host.save()
    return host


def fill(engineer, host, preset="report-c"):
    return engineer.post(ADD, {"fill": "1", "scaled-preset": preset, "scaled-host": str(getattr(host, "pk", host))})


def test_all_steps_of_a_report_are_filled_in_for_the_memory_of_a_host_and_nothing_is_saved(engineer, host):
    answer = fill(engineer, host)
    values = answer.context["page"].form.initial
    assert values["settings"]["shared_buffers"] == "2048MB"
    assert values["os_settings"]["vm.nr_hugepages"] == "1088"
    assertContains(answer, "shared_buffers = 2048MB\neffective_cache_size = 6144MB\nautovacuum = off")
    assertContains(answer, 'value="Report C, in its order, box"')
    assert not Configuration.objects.exists()


def test_what_a_crash_may_lose_is_no_part_of_what_is_filled_in(engineer, host):
    assertNotContains(fill(engineer, host), "synchronous_commit")


def test_what_was_filled_in_is_saved_as_it_stands(engineer, host):
    form = fill(engineer, host, "usual-rules").context["page"].form
    typed = {name: form[name].value() or "" for name in form.fields}
    typed |= {name: form.fields[name].prepare_value(typed[name]) or "" for name in ("settings", "os_settings")}
    assertRedirects(engineer.post(ADD, typed), reverse("configurations"))
    assert Configuration.objects.get().settings["maintenance_work_mem"] == "512MB"


@pytest.mark.parametrize(
    ("memory_bytes", "sentence"),
    [
        (None, "The memory of box is not known: probe it first."),
        ("8 GB", "is not known"),
        (1 << 20, "too little memory"),
    ],
)
def test_a_host_whose_memory_is_unknown_or_too_little_is_refused_in_words(engineer, host, memory_bytes, sentence):
    host.facts = {**host.facts, "memory_bytes": memory_bytes}
    host.save()
    answer = fill(engineer, host)
    assertContains(answer, sentence)
    assertContains(answer, '<details id="scaled" open>')


@pytest.mark.parametrize("preset", ["shared-buffers", "nowhere", ""])
def test_steps_that_exclude_each_other_are_no_configuration(engineer, host, preset):
    assert fill(engineer, host, preset).context["page"].scaled.errors.keys() == {"preset"}


def test_a_host_that_there_is_not_fills_nothing_in(engineer, host):
    assert fill(engineer, 999).context["page"].scaled.errors.keys() == {"host"}


def test_the_limit_of_a_host_that_was_probed_before_limits_were_read_together_counts(host):
    host.facts |= {"memory_limit_bytes": 4 << 30}
    assert host.memory_limit_bytes == 4 << 30
    host.facts |= {"limits": {"cpus": "none", "memory_bytes": "none"}}
    assert host.memory_limit_bytes is None


@pytest.mark.parametrize(("is_own", "text"), [(True, "shared_buffers = 1024MB"), (False, "shared_buffers = 2048MB")])
def test_the_limit_of_the_account_counts_where_a_cluster_of_benchhubs_own_is(engineer, host, is_own, text):
    host.facts |= {"limits": {"cpus": "none", "memory_bytes": 4 << 30}}
    host.save()
    if is_own:
        make_cluster(host)
    else:
        testing.make_instance(host, "18.1")
    assertContains(fill(engineer, host), text)
