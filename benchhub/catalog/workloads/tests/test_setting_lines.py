import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.catalog.workloads.setting_lines import read_settings, write_settings

NAMES = st.from_regex(r"[a-z_][a-z0-9_.]{0,20}", fullmatch=True)
VALUES = st.text(st.characters(blacklist_categories=("Cc", "Zl", "Zp", "Cs")), max_size=20)


def test_lines_are_read_as_in_postgresql_conf():
    text = """
    # memory
    shared_buffers = 8GB
    Max_Connections=200   # each a process
    search_path = '"$user", public'
    log_line_prefix = '%m #''%p'''
    shared_preload_libraries = pg_stat_statements, auto_explain
    """
    assert read_settings(text) == {
        "shared_buffers": "8GB",
        "max_connections": "200",
        "search_path": '"$user", public',
        "log_line_prefix": "%m #'%p'",
        "shared_preload_libraries": "pg_stat_statements, auto_explain",
    }
    assert read_settings("vm.swappiness = 1\nkernel/sem = 1 2") == {"vm.swappiness": "1", "kernel/sem": "1 2"}
    assert read_settings("\n# nothing\n") == {}


def test_a_name_is_taken_in_any_case_and_spelled_as_the_server_does():
    text = "TIMEZONE = UTC\ndatestyle = iso\nIntervalStyle = postgres\nWORK_MEM = 4MB"
    assert list(read_settings(text)) == ["TimeZone", "DateStyle", "IntervalStyle", "work_mem"]
    with pytest.raises(ValueError, match="TimeZone is set a second time"):
        read_settings("timezone = UTC\nTimeZone = UTC")
    assert list(read_settings("Kernel/Sem = 1", keep_case=True)) == ["Kernel/Sem"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("fsync = on\nshared_buffers", "Line 2: write name = value, not 'shared_buffers'."),
        ("8GB = shared_buffers", "Line 1: '8GB' is no name of a setting"),
        ("fsync =", "Line 1: fsync has no value"),
        ("fsync = # on", "Line 1: fsync has no value"),
        ("\nsearch_path = 'public", "Line 2: search_path has no value, or a quote that is not closed."),
        ("search_path = 'public' x", "Line 1: after the value of search_path stands 'x'"),
        ("fsync = on\nFSYNC = off", "Line 2: fsync is set a second time."),
    ],
)
def test_a_line_that_is_wrong_is_named(text, sentence):
    with pytest.raises(ValueError, match="Line") as refused:
        read_settings(text)
    assert sentence in str(refused.value)


def test_every_wrong_line_is_named_at_once():
    with pytest.raises(ValueError, match=r"Line 1: .* Line 3: "):
        read_settings("a\nb = 1\nc")


@given(st.dictionaries(NAMES, VALUES))
def test_what_is_written_is_read_again(settings):
    assert read_settings(write_settings(settings)) == settings
