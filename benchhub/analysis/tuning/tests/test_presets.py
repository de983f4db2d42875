import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.protocol.settings import same_setting
from benchhub.analysis.tuning import treatments
from benchhub.analysis.tuning.presets import LEAST_MEMORY_BYTES, PRESETS
from benchhub.analysis.tuning.treatments import Environment

GB = 1024**3


def settings(key, memory_bytes):
    return {step.name: dict(step.environment.settings) for step in PRESETS[key].scaled(memory_bytes)}


def os_settings(key, memory_bytes):
    return {step.name: dict(step.environment.os_settings) for step in PRESETS[key].scaled(memory_bytes)}


def test_report_c_on_its_own_64_gb_gives_what_it_printed():
    steps = settings("report-c", 64 * GB)
    assert steps["memory"] == {"shared_buffers": "16384MB", "effective_cache_size": "49152MB"}
    assert same_setting("16GB", steps["checkpoints and WAL"]["max_wal_size"], None)
    assert steps["no autovacuum"] == {"autovacuum": "off"}


def test_report_c_changes_the_operating_system_as_printed_on_its_own_64_gb_and_in_its_order():
    steps = os_settings("report-c", 64 * GB)
    assert list(steps)[:6] == ["memory", "no autovacuum", "read-ahead", "huge pages", "migration cost", "dirty pages"]
    # 17408 pages of 1 MB there, so half as many of 2 MB
    assert steps["huge pages"] == {"vm.nr_hugepages": "8704", "transparent_hugepage": "never"}
    assert steps["migration cost"] == {"kernel.sched_migration_cost_ns": "50000"}
    assert steps["dirty pages"] == {"vm.dirty_background_bytes": "67108864", "vm.dirty_bytes": "536870912"}
    assert os_settings("report-c", 2 * GB)["huge pages"]["vm.nr_hugepages"] == "272"


def test_report_a_on_its_own_256_gb_gives_what_it_printed():
    printed = {"shared_buffers": "50GB", "effective_cache_size": "150GB", "maintenance_work_mem": "2GB"}
    step = settings("report-a", 256 * GB)["report A"]
    assert all(same_setting(value, step[name], None) for name, value in printed.items())
    assert step["work_mem"] == "85MB"  # 87381 kB, in whole MB
    assert step["max_connections"] == "300"


def test_report_b_on_its_own_128_gb_gives_what_it_printed():
    (step,) = settings("report-b", 128 * GB).values()
    assert same_setting("32GB", step["shared_buffers"], None)
    assert step["max_wal_size"] == "768MB"


def test_a_small_host_gets_the_same_parts_of_less():
    assert settings("report-c", 2 * GB)["memory"] == {"shared_buffers": "512MB", "effective_cache_size": "1536MB"}
    assert settings("usual-rules", 2 * GB)["maintenance"] == {"maintenance_work_mem": "128MB"}


def test_a_host_with_too_little_memory_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="256 MB at least"):
        PRESETS["report-c"].scaled(LEAST_MEMORY_BYTES - 1)


@pytest.mark.parametrize("key", PRESETS)
@given(memory_bytes=st.integers(LEAST_MEMORY_BYTES, 64 * 1024 * GB))
def test_no_preset_asks_for_more_than_there_is_and_each_is_a_whole_series(key, memory_bytes):
    preset = PRESETS[key]
    steps = preset.scaled(memory_bytes)
    assert treatments.faults(preset.kind, Environment(), steps) == {}
    for step in steps:
        assert int(step.environment.os_settings.get("vm.nr_hugepages", 1)) * 2 <= 0.75 * memory_bytes / 1024**2
        for name in ("shared_buffers", "effective_cache_size", "maintenance_work_mem"):
            size = step.environment.settings.get(name, "1MB")
            assert 1 <= int(size.removesuffix("MB")) <= memory_bytes // 1024**2
