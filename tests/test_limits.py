"""A shell that lets a process open few files is named before anything is downloaded or started."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchhub.embedded.limits import NEEDED_FILES
from conftest import CLONE

READ = """
import resource
from benchhub.embedded import limits
print(limits.open_files_text() or resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def run(limit: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run this Python without packages in a shell that sets the limit."""
    command = ["sh", "-c", f'ulimit {limit}; exec "$0" -S "$@"', sys.executable, *words]
    return subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [("-m", "benchhub.demo", "up"), ("benchhub/install.py", "requirements.txt")])
def test_too_few_files_are_one_sentence_with_what_to_do(words: tuple[str, ...]) -> None:
    done = run("-n 40", *words)
    assert done.returncode == 1
    [line] = (done.stdout + done.stderr).splitlines()
    assert line.startswith(f"A process may open only 40 files here (ulimit -n), and the servers need {NEEDED_FILES}:")
    assert line.endswith("and start again.")


def test_a_limit_that_may_be_raised_is_raised_for_the_servers() -> None:
    assert run("-S -n 40", "-c", READ).stdout == f"{NEEDED_FILES}\n"
    assert run(f"-n {NEEDED_FILES}", "-c", READ).stdout == f"{NEEDED_FILES}\n"
