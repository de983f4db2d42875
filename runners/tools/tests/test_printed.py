"""What a terminal, a log or another system makes of a text, and how it is read all the same or named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.tools.printed import added_text, cut_text, main_errors, printed_text, text_of

TEXT = "transaction type: <builtin: select only>\nnumber of clients: 4\n"
FURTHER = "\nnumber of threads: 2\nduration: 3 s\n"
BEGINNINGS = ("transaction type: ", "number of clients: ")


@pytest.mark.parametrize(
    "output",
    [
        TEXT,
        "\ufeff" + TEXT,
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("\n", "\r\r\n"),
        TEXT.replace("\n", "\r"),
        TEXT.replace("\n", "  \t\n"),
        TEXT.replace("4", "\x1b[1m4\x1b[0m"),
        TEXT.replace(" ", "\u00a0"),
        TEXT.replace("transaction", "\x1b[0;32mtransaction").replace("\n", "\x1b[0m\x1b[K\n"),
        "\x1b]0;postgres@db1: ~\x07" + TEXT,
        "\x1b(B\x1b[m\x1b[?2004l" + TEXT,
        TEXT.replace("transaction", "    transaction").replace("number", "    number"),
    ],
)
def test_a_text_is_the_same_however_a_terminal_or_an_editor_has_kept_it(output: str) -> None:
    assert printed_text(output.encode()) == TEXT
    assert text_of(output.encode()).replace("\u00a0", " ") == TEXT


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-01-31T02:00:00.1234567Z ",
        "bench\tRun pgbench\t2026-01-31T02:00:00.1234567Z ",
        "2026-01-31T02:00:00.123456Z 01O ",
        "[2026-01-31T02:00:00.123Z] ",
        "2026-01-31 02:00:00,123 ",
        "2026-01-31 02:00:00 UTC ",
        "2026-01-31T02:00:00+01:00 ",
        "[02:00:01] ",
        "02:00:01 ",
        "Jan 31 02:00:01 ",
        "Jan  1 02:00:01 db-1 pgbench[4711]: ",
        "\x1b_bk;t=1769824800000\x07",
        "pgbench-1  | ",
        "pgbench-1  | 2026-01-31T02:00:00.123456789Z ",
        "> ",
    ],
)
def test_what_a_log_adds_before_every_line_is_taken_away(stamp: str) -> None:
    text = f"{TEXT}\n    indented: 1\nprogress: 1.0 s\n"
    stamped = "".join(f"{stamp}{line}".rstrip(" ") + "\n" for line in text.splitlines())
    assert printed_text(stamped.encode()) == text


def test_a_text_of_which_one_line_has_no_time_keeps_those_of_all() -> None:
    text = "".join(f"02:00:01 {line}\n" for line in TEXT.splitlines()) + "duration: 3 s\n"
    assert printed_text(text.encode()) == text


@pytest.mark.parametrize(
    "text",
    [
        "12:00:01 2 3\n",
        "2026-01-31 02:00:00.123 UTC [9] FATAL:  could not create lock file\n" * 5,
        "pgbench-1  | a\n" * 5,
        "script\u00a01.sql\n",
    ],
)
def test_what_a_server_or_a_file_of_a_target_says_keeps_its_times(text: str) -> None:
    assert text_of(text.encode()) == text
    assert printed_text(text.encode()) != text


def test_few_lines_may_begin_by_chance_as_those_of_a_container_or_a_quotation() -> None:
    assert printed_text(b"> 1\na |\n") == "> 1\na |\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_what_powershell_redirected_is_read(encoding: str) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    assert printed_text(f"{mark}{TEXT}".replace("\n", "\r\n").encode(encoding)) == TEXT


def test_what_only_resembles_a_colour_stays() -> None:
    assert printed_text(b"\x1b and \x1b[ and [0m") == "\x1b and \x1b[ and [0m"


@given(st.text())
def test_the_words_of_a_text_stay_and_reading_it_twice_changes_nothing(text: str) -> None:
    once = printed_text(text.replace("\x1b", "").encode(errors="replace"))
    assert printed_text(once.encode()) == once
    words = text.replace("\x1b", "").replace("\ufeff", "").replace("\0", "\N{REPLACEMENT CHARACTER}").split()
    assert "".join(once.split()) == "".join(words).encode(errors="replace").decode()


@pytest.mark.parametrize("prefix", ["2026-01-31T02:00:00.1Z ", "[02:00:01] ", "pgbench_1  | ", "> ", "    ", "12:"])
def test_what_was_added_before_each_line_is_named(prefix: str) -> None:
    text = "".join(f"{prefix}{line}\n" for line in TEXT.splitlines())
    sentence = added_text(text, BEGINNINGS)
    assert f"before 'transaction type:' stands '{prefix}'." in sentence and "Send the text without" in sentence


@pytest.mark.parametrize("prefix", ["    ", "> ", "\t", "# "])
def test_a_run_that_is_quoted_beside_another_is_not_left_out_in_silence(prefix: str) -> None:
    quoted = "".join(f"{prefix}{line}".rstrip() + "\n" for line in (TEXT + FURTHER).splitlines())
    assert f"before 'transaction type:' stands '{prefix}'." in added_text(TEXT + FURTHER + quoted, BEGINNINGS)


def test_a_comment_beside_a_run_is_no_mark_of_a_run() -> None:
    assert added_text(f"# number of clients: 4\n{TEXT}", BEGINNINGS) == ""
    assert added_text(f"{TEXT}# number of clients: 4\n# duration: 3 s\n# scale: 1\n", BEGINNINGS) == ""
    assert "stands '# '" in added_text("# transaction type: x\nnumber of clients: 4\n", BEGINNINGS)


@pytest.mark.parametrize(
    "text", ["", TEXT, "$ pgbench | grep 'number of clients: '\n" + TEXT, "latency average = 1 ms\n"]
)
def test_nothing_is_said_to_be_added_where_a_line_begins_as_it_was_printed(text: str) -> None:
    assert added_text(text, BEGINNINGS) == ""


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        (f"{TEXT}duration: 3 s\n", ""),
        (f"{TEXT}  number of transactions per client: 3\n", ""),
        (TEXT, "duration:"),
        ("duration: 3 s\nnumber of clients: 4\n", "transaction type:"),
        ("", "transaction type:"),
    ],
)
def test_a_report_without_a_line_that_all_have_is_cut_off(text: str, absent: str) -> None:
    sentence = cut_text(text, (*BEGINNINGS, "duration: |number of transactions per client: "))
    assert (f"no line '{absent}'" in sentence) if absent else sentence == ""


def test_the_cause_is_told_with_the_last_errors_and_no_line_twice() -> None:
    consequences = [f'pgbench: error: client {n} aborted: prepared statement "P_2" does not exist' for n in range(40)]
    lines = ["progress: 1.0 s, 0.0 tps", 'pgbench: error: ERROR:  relation "a" does not exist', *consequences]
    cause, *last = main_errors("\n".join([*lines, *lines])).split("; ")
    assert cause == 'ERROR:  relation "a" does not exist'
    assert last == [f'client {n} aborted: prepared statement "P_2" does not exist' for n in (38, 39)]


@pytest.mark.parametrize("lines", [["error: a"], ["error: a", "error: b"], ["error: a", "error: b", "error: c"]])
def test_few_errors_are_told_in_their_order(lines: list[str]) -> None:
    assert main_errors("\n".join(lines)) == "; ".join(line[7:] for line in lines)
    assert main_errors("") == ""
