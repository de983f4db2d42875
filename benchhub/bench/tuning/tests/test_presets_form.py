import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.analysis.tuning.presets import LEAST_MEMORY_BYTES, PRESETS
from benchhub.bench.models import TuningSeries
from benchhub.bench.tuning.testing import NEW, form_of
from runners.os_settings import names

pytestmark = pytest.mark.django_db


@pytest.fixture
def sized(host):
    host.facts = {**host.facts, "memory_bytes": 8 * 1024**3}
    host.save()
    return host


def test_steps_of_a_report_are_filled_in_for_the_memory_of_the_host(runner, sized, cluster, workload):
    response = runner.post(NEW, {**form_of(cluster, workload, ("mine", "work_mem = 8MB")), "fill": "report-c"})
    assertContains(response, "shared_buffers = 2048MB\neffective_cache_size = 6144MB")
    assertContains(response, 'value="no autovacuum"')
    assertNotContains(response, "work_mem = 8MB")
    assertContains(response, 'value="Night"')
    assert not TuningSeries.objects.exists()


def test_a_container_with_less_memory_than_its_host_gets_steps_for_what_it_may_use(runner, sized, cluster, workload):
    sized.facts = {**sized.facts, "limits": {"memory_bytes": 4 * 1024**3}}
    sized.save()
    response = runner.post(NEW, {**form_of(cluster, workload), "fill": "report-c"})
    assertContains(response, "shared_buffers = 1024MB\neffective_cache_size = 3072MB")


def test_sizes_of_one_setting_are_each_tried_alone(runner, sized, cluster, workload):
    response = runner.post(NEW, {**form_of(cluster, workload), "fill": "shared-buffers"})
    assertContains(response, "shared_buffers = 512MB")
    assertContains(response, "shared_buffers = 4096MB")
    assertContains(response, '<option value="one-at-a-time" selected>')


@pytest.mark.parametrize("key", PRESETS)
@pytest.mark.parametrize("memory_bytes", [LEAST_MEMORY_BYTES, 8 << 30, 1 << 42])
def test_no_preset_asks_an_operating_system_for_what_is_not_applied(key, memory_bytes):
    for step in PRESETS[key].scaled(memory_bytes):
        assert names.refusals(step.environment.os_settings, memory_bytes) == []


def test_steps_of_the_operating_system_are_filled_in_and_unfolded(runner, sized, cluster, workload):
    response = runner.post(NEW, {**form_of(cluster, workload), "fill": "report-c"})
    assertContains(response, "vm.nr_hugepages = 1088\ntransparent_hugepage = never")
    assertContains(response, "kernel.sched_migration_cost_ns = 50000")
    assertContains(response, '<details id="os-3" open>')
    assertContains(response, '<details id="os-1">')


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"instance": ""}, "Choose a cluster first"),
        ({"instance": "999"}, "Choose a cluster first"),
        ({"fill": "nowhere"}, "There are no such steps"),
        ({}, "The memory of the cluster&#x27;s host is not known: probe the host first."),
    ],
)
def test_what_cannot_be_filled_is_said_and_what_was_typed_stays(runner, host, cluster, workload, changes, sentence):
    form = form_of(cluster, workload, ("mine", "work_mem = 8MB"))
    response = runner.post(NEW, {**form, "fill": "report-c", **changes})
    assertContains(response, sentence)
    assertContains(response, "work_mem = 8MB")


def test_a_hostile_fact_of_the_memory_fills_nothing_in(runner, host, cluster, workload):
    for fact in ("8 GB", -1, None, [1]):
        host.facts = {**host.facts, "memory_bytes": fact}
        host.save()
        response = runner.post(NEW, {**form_of(cluster, workload), "fill": "report-c"})
        assertContains(response, 'role="alert"')
        assertNotContains(response, "shared_buffers = 1MB")
