import pytest

from benchhub.ui.facts import in_words, sections


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("xact_commit", "transactions committed"),
        ("blk_read", "block read"),
        ("tup_inserted", "rows inserted"),
        ("wal_fpi", "WAL full page images"),
        ("cpu iowait", "CPU waiting for I/O"),
        ("/dev/sda_1", "/dev/sda_1"),
        ("auto_explain.log_min_duration", "auto_explain.log_min_duration"),
    ],
)
def test_names_of_fields_become_words_and_paths_and_settings_stay(name, words):
    assert in_words(name) == words


def test_a_view_of_statistics_is_a_section_under_a_name_that_people_read():
    (section,) = sections(("pg_stat_database", {"blks_hit": 7, "deadlocks": 0}))
    assert section.name == "Database statistics"
    assert [fact.name for fact in section.facts] == ["blocks found in shared buffers", "deadlocks"]
