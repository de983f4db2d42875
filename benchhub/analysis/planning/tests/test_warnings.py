from dataclasses import replace

import pytest

from benchhub.analysis.planning import warnings as planning_warnings
from benchhub.analysis.planning.warnings import WARNINGS, Planned

GIB = 2**30
SOUND = Planned(
    instance="pg18", server="big", driver="small", levels=(1, 8, 97), threads=(1, 4, 97), size="scale 100",
    duration_s=600, repeats=3, branches=100, writes=True, data_set_bytes=16 * GIB, memory_bytes=64 * GIB,
    is_to_load=True, free_bytes=500 * GIB, folder="/data",
)  # fmt: skip


def test_a_sound_plan_is_not_odd():
    assert list(planning_warnings.warnings(SOUND)) == []


@pytest.mark.parametrize(
    ("warning", "changes", "sentence_part"),
    [
        # 100 connections less 3 reserved ones leave 97.
        (
            planning_warnings.too_many_connections,
            {"levels": (98,), "threads": (98,)},
            "98 clients may be more than pg18 lets in",
        ),
        (
            planning_warnings.too_many_connections,
            {"max_connections": 20, "is_max_connections_asked": True},
            "asks for 20 max",
        ),
        (planning_warnings.fewer_branches_than_clients, {"branches": 96}, "has 96 branches (its scale) for 97 clients"),
        (planning_warnings.fewer_branches_than_clients, {"branches": 1}, "has 1 branch (its scale)"),
        (planning_warnings.uneven_threads, {"threads": (1, 3, 96)}, "At 8, 97 clients the threads do not divide"),
        (
            planning_warnings.beyond_memory,
            {"memory_bytes": 16 * GIB - 1},
            "16.0 GiB, more than the 16.0 GiB of memory of big",
        ),
        (planning_warnings.beyond_disk, {"free_bytes": 15 * GIB}, "but only 15.0 GiB are free in /data of big"),
        (
            planning_warnings.beyond_disk,
            {"data_set_bytes": 3 * 2**40},
            "takes about 3.0 TiB, but only 500.0 GiB are free",
        ),
        # Two cycles of 5 minutes are 600 s.
        (planning_warnings.short_of_checkpoints, {"duration_s": 599}, "shorter than two checkpoint cycles (600 s)"),
        (planning_warnings.short_of_checkpoints, {"checkpoint_timeout_s": 1800}, "checkpoint cycles (3,600 s)"),
        # 1 / 0.1 s and 97 / 0.1 s.
        (
            planning_warnings.bounded_by_thinking,
            {"pause_ms": 100},
            "so they make at most 10 TPS at 1 and 970 TPS at 97 clients, whatever pg18",
        ),
        # 2 s x (1 + ln 97) are 11.1 s, more than 1% of 600 s.
        (
            planning_warnings.ends_thinking,
            {"pause_ms": 2000},
            "up to 11 s, and that time is in its TPS: runs of 1,115 s",
        ),
        (planning_warnings.short, {"duration_s": 29}, "Runs shorter than 30 s"),
        # 2,000 logged a second x 0.01 x 5 s x 3 repeats are 300 of 1,000; of 1 s 60 of 100.
        (
            planning_warnings.few_response_times,
            {"rarest_share": 0.01, "duration_s": 5},
            "1% of them, has some 300 response times at a level: too few for a 99th percentile of its own. "
            "Runs of 17 s would have enough.",
        ),
        (
            planning_warnings.few_response_times,
            {"rarest_share": 0.01, "duration_s": 1},
            "90th percentile of its own. Runs of 2",
        ),
        (planning_warnings.without_spread, {"repeats": 1}, "A single run at each level shows no spread"),
        (planning_warnings.on_one_machine, {"driver": "big"}, "share one machine (big)"),
        (
            planning_warnings.warmed_for_nothing,
            {"has_warmup_run": True, "is_loaded_each_time": True},
            "data set is loaded anew",
        ),
        (
            planning_warnings.warmed_for_nothing,
            {"has_warmup_run": True, "drops_caches": True},
            "caches are dropped before",
        ),
        (planning_warnings.cold_and_warm, {"drops_caches": True, "warmup_s": 10}, "not a cold one"),
    ],
)
def test_each_warning_is_said_by_its_own_function_and_is_registered(warning, changes, sentence_part):
    assert warning in WARNINGS
    assert sentence_part in warning(replace(SOUND, **changes))
    assert warning(SOUND) == ""


@pytest.mark.parametrize(
    ("warning", "changes"),
    [
        (planning_warnings.fewer_branches_than_clients, {"branches": None}),
        (planning_warnings.beyond_memory, {"data_set_bytes": None, "memory_bytes": 1}),
        (planning_warnings.beyond_memory, {"memory_bytes": None}),
        (planning_warnings.beyond_disk, {"free_bytes": 1, "is_to_load": False}),
        (planning_warnings.beyond_disk, {"free_bytes": None}),
        (planning_warnings.short_of_checkpoints, {"writes": False, "duration_s": 60}),
        (planning_warnings.short_of_checkpoints, {"writes": None, "duration_s": 60}),
        (planning_warnings.warmed_for_nothing, {"has_warmup_run": True}),
        (planning_warnings.cold_and_warm, {"drops_caches": True}),
        # Constant pauses of 2 s end within 2 s, less than 1% of 600 s.
        (planning_warnings.ends_thinking, {"pause_ms": 2000, "longest_pause_ms": 2000.0}),
    ],
)
def test_what_is_not_known_or_does_not_apply_is_not_said(warning, changes):
    assert warning(replace(SOUND, **changes)) == ""


def test_data_sets_that_fit_on_a_disk_one_by_one_and_not_together_are_odd():
    sizes = {"pg16": 47 * GIB, "pg18": 47 * GIB}  # 94 GiB
    assert planning_warnings.beyond_disk_together(sizes, 93 * GIB, "/data", "big") == (
        "The data sets of pg16 and pg18 take about 94.0 GiB together, but only 93.0 GiB are free in /data of big: "
        "a load may fail."
    )
    assert planning_warnings.beyond_disk_together(sizes, 94 * GIB, "/data", "big") == ""
    assert planning_warnings.beyond_disk_together(sizes, 46 * GIB, "/data", "big") == "", (
        "each is said to be too large alone"
    )
    assert planning_warnings.beyond_disk_together({"pg16": GIB}, GIB, "/data", "big") == ""
