"""Packages with faults that are known are refused, without a network."""

import subprocess
import sys
from pathlib import Path

CHECK = Path(__file__).with_name("known_faults.py")


def check(*arguments):
    return subprocess.run([sys.executable, CHECK, *arguments], capture_output=True, text=True, check=False)


def test_what_benchhub_runs_on_has_no_fault_that_is_known():
    done = check()
    assert (done.returncode, done.stdout) == (0, "")


def test_an_old_release_and_what_is_not_pinned_are_refused(tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("# old\ndjango==5.2.1\nwaitress==3.0.2\nsqlparse>=0.5\n")
    done = check(str(file))
    assert done.returncode == 1
    assert "django 5.2.1 has CVE-2025-64459, mended in 5.2.8: upgrade it." in done.stdout
    assert "sqlparse>=0.5 is not pinned" in done.stdout
    assert "waitress" not in done.stdout
