import pytest

from benchhub.analysis.tuning.exports import alter_system, postgresql_conf, sysctl_conf

SETTINGS = {"shared_buffers": "4GB", "search_path": "it's"}


def test_settings_become_lines_of_postgresql_conf():
    assert postgresql_conf(SETTINGS, "night 3, best") == (
        "# night 3, best\nshared_buffers = '4GB'\nsearch_path = 'it''s'\n"
    )


def test_settings_become_alter_system_statements():
    assert alter_system(SETTINGS, "best") == (
        "-- best\nALTER SYSTEM SET shared_buffers = '4GB';\nALTER SYSTEM SET search_path = 'it''s';\n"
        "SELECT pg_reload_conf();\n"
    )
    assert alter_system({}, "nothing") == "-- nothing\n"


def test_what_the_kernel_does_not_know_is_only_a_comment_in_sysctl_d():
    text = sysctl_conf({"vm.dirty_bytes": "536870912", "transparent_hugepage": "never"}, "best")
    assert text == "# best\nvm.dirty_bytes = 536870912\n# not set by sysctl: transparent_hugepage = never\n"


def test_where_a_setting_of_no_sysctl_is_written_stands_beside_it():
    text = sysctl_conf({"transparent_hugepage": "never"}, "best", {"transparent_hugepage": "/sys/x"})
    assert text == (
        "# best\n# not set by sysctl: transparent_hugepage = never\n# at each start: echo never | tee /sys/x\n"
    )
    with pytest.raises(ValueError, match="line break"):
        sysctl_conf({"transparent_hugepage": "never\nreboot"}, "best", {"transparent_hugepage": "/sys/x"})


def test_what_newer_kernels_have_elsewhere_stands_in_both_places():
    text = sysctl_conf({"kernel.x": "1", "vm.swappiness": "1"}, "best", {"kernel.x": "/sys/x"})
    assert text.splitlines()[1:] == [
        "kernel.x = 1",
        "# at each start of a kernel whose sysctl does not know it: echo 1 | tee /sys/x",
        "vm.swappiness = 1",
    ]


@pytest.mark.parametrize("write", [postgresql_conf, alter_system])
@pytest.mark.parametrize(
    "settings", [{"a; DROP TABLE x": "1"}, {"work_mem": "1\nfsync = off"}, {"work_mem": "a\\'"}, {"Work_mem": "1"}]
)
def test_what_would_break_out_of_its_line_is_refused(write, settings):
    with pytest.raises(ValueError, match=r"no name|line break|backslash"):
        write(settings, "best")


def test_a_title_stays_on_its_line():
    assert postgresql_conf({}, "a\nfsync = off") == "# a fsync = off\n"
    with pytest.raises(ValueError, match="line break"):
        sysctl_conf({"vm.swappiness": "1\nkernel.panic = 1"}, "best")


def test_each_element_of_a_list_is_quoted_by_itself_as_one_pair_of_quotes_would_make_one_name_of_it():
    lists = {"shared_preload_libraries": "pg_stat_statements, auto_explain", "search_path": '"$user", it\'s'}
    text = alter_system(lists, "best")
    assert "SET shared_preload_libraries = 'pg_stat_statements', 'auto_explain';" in text
    assert "SET search_path = '$user', 'it''s';" in text
    assert "shared_preload_libraries = 'pg_stat_statements, auto_explain'" in postgresql_conf(lists, "best")


@pytest.mark.parametrize("value", ["", "a,,b", '"a,b"', '"a'])
def test_a_list_that_alter_system_cannot_hold_is_refused(value):
    with pytest.raises(ValueError, match="use the lines for"):
        alter_system({"shared_preload_libraries": value}, "best")
