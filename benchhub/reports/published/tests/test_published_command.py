"""`manage.py published`, run as people run it, where no database answers."""

import errno
import io
import json
import os
import pty
import subprocess
import sys
from fractions import Fraction

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from benchhub.analysis.published import PublishedError
from benchhub.reports.published import files

NOWHERE = "postgresql://nobody@127.0.0.1:1/nowhere"
PATIENCE_S = 240  # of a busy machine
CHECK_FIELDS = {
    "report", "section", "group", "what", "published", "published_value", "unit", "computed", "exact", "difference",
    "verdict", "why", "steps", "published_low", "published_high", "computed_low", "computed_high",
}  # fmt: skip


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "manage.py", "published", *arguments],
        cwd=settings.BASE_DIR,
        env={**os.environ, "DATABASE_URL": NOWHERE, "SECRET_KEY": "unused", **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def printed(*arguments):
    """Return what the command prints within this process, to a terminal of 80 columns."""
    out = io.StringIO()
    call_command("published", *arguments, stdout=out)
    return out.getvalue()


def test_it_prints_every_report_what_does_not_survive_and_a_count_without_a_database():
    done = run(PYTHONUTF8="1")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line[0] for line in lines if line.endswith(("(2015)", "(2014)", "(2018)"))] == ["A", "B", "C"]
    assert "What does not survive" in lines
    assert lines[-1] == "136 numbers of 4 reports: 110 agree, 6 consistent, 1 rounded up, 19 disagree."
    assert max(map(len, lines)) < 80


def test_columns_are_aligned():
    rows = [line for line in printed("--report", "A").splitlines() if line.startswith(("8.", "9 "))]
    verdicts = [max(line.rfind(word) for word in ("agrees", "consistent", "rounded up", "disagrees")) for line in rows]
    assert len(set(verdicts) - {verdicts[0], verdicts[0] + 3}) == 0  # 'agrees' is found within 'disagrees'
    assert any(line.endswith("0.1048    +0.0052 rounded up") for line in rows)


def test_one_report_can_be_asked_for_in_either_case():
    for letter in ("c", "C"):
        text = printed("--report", letter)
        assert "12 numbers of 1 report: 10 agree, 2 consistent, 0 rounded up, 0 disagree." in text
        assert "PostgresPURE" not in text
    refused = run("--report", "E")
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr


def test_json_holds_every_number_as_text_with_a_version():
    answer = json.loads(printed("--json"), parse_float=pytest.fail)
    assert (answer["version"], [report["letter"] for report in answer["reports"]]) == (1, ["A", "B", "C", "D"])
    assert answer["tally"] == {"total": 136, "agrees": 110, "consistent": 6, "rounded up": 1, "disagrees": 19}
    for report in answer["reports"]:
        assert set(report) == {
            "letter", "slug", "title", "document", "who", "year", "compared", "checks", "findings", "tally",
        }  # fmt: skip
        for check in report["checks"]:
            assert set(check) == CHECK_FIELDS
            assert all(isinstance(value, str) for name, value in check.items() if name != "steps")
            assert check["verdict"] in ("agrees", "consistent", "rounded up", "disagrees")


def test_json_of_one_price_is_as_it_was_when_version_1_was_settled():
    [report] = json.loads(printed("--json", "--report", "A"))["reports"]
    first = report["checks"][0]
    intervals = [first.pop(f"{name}_{end}") for name in ("published", "computed") for end in ("low", "high")]
    assert intervals == ["0.105", "0.115", "0.1048", "0.1048"]
    assert first.pop("steps")[-1] == "Printed: € 0.11. To as many decimals it is 0.10 to the nearest, 0.11 rounded up."
    assert first == {
        "report": "A",
        "section": "8.1",
        "group": "Price per TPS",
        "what": "PostgresPURE 9.4.4, hardware only",
        "published": "€ 0.11",
        "published_value": "0.11",
        "unit": "EUR per TPS",
        "computed": "0.1048",
        "exact": "19182/182987",
        "difference": "0.0052",
        "verdict": "rounded up",
        "why": "38,364 / 365,974 = 0.1048: 0.10 to the nearest, so the printed € 0.11 was rounded up.",
    }
    assert Fraction(first["exact"]) == Fraction(38364, 365974)


def test_why_adds_a_sentence_to_every_number():
    assert "38,364 / 492,072 = 0.0780, and 0.08 when rounded, as printed." not in printed("--report", "A")
    joined = " ".join(printed("--report", "A", "--why").split())
    assert "38,364 / 492,072 = 0.0780, and 0.08 when rounded, as printed." in joined


def test_figures_stand_with_their_units():
    joined = " ".join(printed("--report", "A").split())
    assert "(EUR per" in joined


def test_a_reader_who_goes_away_is_no_error():
    command = f"{sys.executable} manage.py published --why 2>&1 >&3 | cat"
    script = f"exec 3> >(exec 0<&-; sleep 1); sleep 0.2; {command}"
    environment = {**os.environ, "DATABASE_URL": NOWHERE}
    options = {"env": environment, "capture_output": True, "text": True, "timeout": PATIENCE_S}
    done = subprocess.run(["bash", "-c", script], cwd=settings.BASE_DIR, **options)
    assert done.stdout + done.stderr == ""


def test_a_terminal_that_knows_no_euro_sign_gets_the_word():
    done = run("--report", "A", LC_ALL="POSIX", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "EUR 0.11" in done.stdout


@pytest.mark.parametrize(("columns", "widest"), [("80", 79), ("200", 119)])
def test_a_terminal_is_filled_and_not_overrun(columns, widest):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "DATABASE_URL": NOWHERE, "COLUMNS": columns, "PYTHONUTF8": "1"}
    with subprocess.Popen(
        [sys.executable, "manage.py", "published", "--report", "C"],
        cwd=settings.BASE_DIR,
        env=environment,
        stdout=theirs,
    ) as command:
        os.close(theirs)
        text = _all_of(ours)
    assert command.returncode == 0
    assert max(map(len, text.splitlines())) == widest


def _all_of(ours):
    """Everything that was written to a terminal; on Linux its end is an error."""
    parts = []
    try:
        while part := os.read(ours, 65536):
            parts.append(part)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
    finally:
        os.close(ours)
    return b"".join(parts).decode()


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "report-x.toml").write_text("letter = ")
    with pytest.raises(PublishedError, match=r"report-x\.toml cannot be read"):
        files.load(tmp_path)


def test_an_empty_directory_and_a_doubled_letter_are_refused(tmp_path):
    with pytest.raises(PublishedError, match="There are no published reports"):
        files.load(tmp_path)
    text = (files.DIRECTORY / "report-c.toml").read_text()
    for name in ("one.toml", "two.toml"):
        (tmp_path / name).write_text(text)
    with pytest.raises(PublishedError, match="have the same letter"):
        files.load(tmp_path)


def test_a_mistake_in_the_data_is_told_in_one_line(tmp_path, monkeypatch):
    broken = (files.DIRECTORY / "report-c.toml").read_text().replace('gain_percent = "12"', "gain_percent = 12")
    (tmp_path / "report-c.toml").write_text(broken)
    monkeypatch.setattr(files, "DIRECTORY", tmp_path)
    files.reports.cache_clear()
    try:
        with pytest.raises(
            CommandError, match=r"report-c\.toml, step 1: 'gain_percent' must be text, in quotes, not 12"
        ):
            call_command("published")
    finally:
        files.reports.cache_clear()
