"""Steps of a series that change the operating system, which the helper of root's puts back after each run."""

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench.models import Run, TuningSeries
from benchhub.bench.plan import specs
from benchhub.bench.tuning.testing import NEW, PLAN, form_of, with_helper
from benchhub.catalog.models import Configuration

pytestmark = pytest.mark.django_db
MEMORY = ("memory", "shared_buffers = 2GB", "")
SWAP = ("swapping", "", "vm.swappiness = 1")
PAGES = ("huge pages", "work_mem = 8MB", "vm.nr_hugepages = 1088\ntransparent_hugepage = never")


def queued(runner, form):
    assert runner.post(NEW, {**form, "queue": "1"}).status_code == 302
    return TuningSeries.objects.get()


def errors_of(runner, form, field="os_settings"):
    draft = runner.post(PLAN, form).context["page"].draft
    return [" ".join(step.errors.get(field, [])) for step in draft.steps]


def test_a_step_changes_server_and_operating_system_on_top_of_what_was_set_before_it(runner, host, cluster, workload):
    with_helper(host)
    baseline = Configuration.objects.create(name="calm", os_settings={"vm.swappiness": "10", "read_ahead_kb": "128"})
    series = queued(runner, form_of(cluster, workload, SWAP, MEMORY, PAGES, baseline=str(baseline.pk)))
    systems = [row.system.configuration for row in series.treatments.select_related("system__configuration")]
    calm = {"vm.swappiness": "1", "read_ahead_kb": "128"}
    large = {"vm.nr_hugepages": "1088", "transparent_hugepage": "never"}
    assert [row.os_settings for row in systems] == [baseline.os_settings, calm, calm, {**calm, **large}]
    assert [row.settings for row in systems[1:]] == [
        {}, {"shared_buffers": "2GB"}, {"shared_buffers": "2GB", "work_mem": "8MB"},
    ]  # fmt: skip
    runs = Run.objects.filter(kind=Run.Kind.MEASURE).order_by("position")[:4]
    assert [specs.spec_of(run).cluster.os_settings for run in runs] == [row.os_settings for row in systems]


def test_the_plan_says_what_it_changes_on_the_host_and_that_it_is_put_back(runner, host, cluster, workload):
    with_helper(host)
    page = runner.post(PLAN, form_of(cluster, workload, MEMORY, SWAP))
    assertContains(page, "vm.swappiness")
    assertContains(page, "What was there before is put back when a run has ended")
    assertNotContains(runner.post(PLAN, form_of(cluster, workload, MEMORY)), "What was there before is put back")


def test_a_value_is_refused_beside_the_operating_system_of_its_step_alone(runner, host, cluster, workload):
    with_helper(host)
    form = form_of(cluster, workload, MEMORY, ("odd", "", "vm.swappiness = 201"), SWAP)
    assert errors_of(runner, form) == ["", "vm.swappiness takes a whole number from 0 to 200.", ""]
    assert errors_of(runner, form, "settings") == ["", "", ""]


def test_a_step_against_its_baseline_s_pair_is_refused(runner, host, cluster, workload):
    with_helper(host)
    baseline = Configuration.objects.create(name="ratios", os_settings={"vm.dirty_ratio": "20"})
    form = form_of(cluster, workload, ("bytes", "", "vm.dirty_bytes = 536870912"), baseline=str(baseline.pk))
    assert "exclude each other" in errors_of(runner, form)[0]


def test_what_the_host_does_not_have_is_refused_before_anything_is_queued(runner, host, cluster, workload):
    with_helper(host, "cpu_governor")
    form = form_of(cluster, workload, ("governor", "", "cpu_governor = performance"))
    assert errors_of(runner, form) == ["cpu_governor: the kernel of the host does not have it."]
    assert runner.post(NEW, {**form, "queue": "1"}).status_code == 200
    assert not TuningSeries.objects.exists()


def test_a_host_without_the_helper_refuses_the_step_and_says_where_to_get_it(runner, cluster, workload):
    [sentence] = errors_of(runner, form_of(cluster, workload, SWAP))
    assert "may not change settings of the operating system" in sentence and "the page of the host says" in sentence


def test_a_step_that_changes_nothing_of_the_operating_system_is_refused(runner, host, cluster, workload):
    with_helper(host)
    form = form_of(cluster, workload, SWAP, ("again", "", "vm.swappiness = 1"))
    assert "It changes nothing" in errors_of(runner, form, "settings")[1]


def test_factorial_steps_combine_both_layers(runner, host, cluster, workload):
    with_helper(host)
    series = queued(runner, form_of(cluster, workload, MEMORY, SWAP, kind="factorial"))
    systems = [row.system.configuration for row in series.treatments.select_related("system__configuration")]
    assert [(len(row.settings), len(row.os_settings)) for row in systems] == [(1, 0), (2, 0), (1, 1), (2, 1)]


def test_a_similar_series_starts_with_the_same_steps_of_both_layers(runner, host, cluster, workload):
    with_helper(host)
    series = queued(runner, form_of(cluster, workload, MEMORY, SWAP))
    again = runner.get(f"{NEW}?like={series.pk}")
    assertContains(again, "vm.swappiness = 1</textarea>")
    assertContains(again, '<details id="os-2" open>')
    best = runner.get(f"{NEW}?like={series.pk}&baseline=2")
    assertNotContains(best, "vm.swappiness = 1</textarea>")
    assertContains(best, "selected>Night / swapping</option>")
