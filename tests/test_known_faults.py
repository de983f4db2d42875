"""Packages with faults that are known are refused, without a network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.version import Version

from tests import known_faults, renew_known_faults
from tests.known_faults import BY_HAND, LIST, Fault, faults_of

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


def test_the_list_says_of_which_commit_and_day_the_database_is_and_is_in_order():
    assert re.match(r"# pypa/advisory-database [0-9a-f]{40} 20[0-9-]{8}$", LIST.read_text().splitlines()[0])
    faults = faults_of(LIST)
    assert faults == sorted(faults, key=lambda fault: (fault.package, fault.fault, fault.order))
    assert {"django", "pillow", "cryptography"} <= {fault.package for fault in faults}
    assert not {(fault.package, fault.fault) for fault in faults} & {
        (known_faults.normal(fault.package), fault.fault) for fault in faults_of(BY_HAND)
    }


@pytest.mark.parametrize(
    ("events", "affected", "free"),
    [
        ([{"introduced": "0"}, {"fixed": "1.2"}], ["0.1", "1.1.9"], ["1.2", "2"]),
        (
            [{"introduced": "5.0"}, {"fixed": "5.0.8"}, {"introduced": "4.2"}, {"fixed": "4.2.15"}],
            ["4.2.14", "5.0", "5.0.7"],
            ["4.1", "4.2.15", "4.2.20", "5.0.8"],
        ),
        ([{"introduced": "1.9"}, {"last_affected": "1.10"}], ["1.9", "1.10"], ["1.8", "1.11"]),
        ([{"introduced": "2"}], ["2", "77"], ["1.9"]),
    ],
)
def test_versions_of_a_range_have_its_fault_and_no_others(events, affected, free):
    faults = [Fault(package="x", fault="CVE-1", **span) for span in renew_known_faults.spans(events)]
    versions = {version for version in [*affected, *free] if any(fault.is_in(Version(version)) for fault in faults)}
    assert versions == set(affected)


def test_what_was_withdrawn_is_no_fault_and_what_names_versions_alone_is():
    advisory = {"id": "PYSEC-1", "affected": [{"package": {"name": "X.y"}, "versions": ["1.0"]}]}
    assert list(renew_known_faults.ranges(advisory)) == [
        Fault(package="x-y", introduced="1.0", last_affected="1.0", fault="PYSEC-1")
    ]
    assert list(renew_known_faults.ranges({**advisory, "withdrawn": "2024-01-01T00:00:00Z"})) == []


def test_a_checkout_of_the_database_becomes_the_list(tmp_path, monkeypatch, capsys):
    file = tmp_path / "checkout" / "vulns" / "django" / "PYSEC-9.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        "id: PYSEC-9\naliases: [GHSA-1, CVE-2025-64459]\naffected:\n- package: {name: django}\n  ranges:\n"
        "  - {type: GIT, events: [{introduced: '0'}, {fixed: 1f2e}]}\n"
        "  - {type: ECOSYSTEM, events: [{introduced: '5.2'}, {fixed: 5.2.8}]}\n"
    )
    checkout = str(tmp_path / "checkout")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", checkout, *words], check=True)
    monkeypatch.setattr(renew_known_faults, "LIST", tmp_path / "list.csv")
    assert renew_known_faults.main([checkout]) == 0
    head, *lines = (tmp_path / "list.csv").read_text().splitlines()
    assert head.startswith("# pypa/advisory-database ")
    assert lines == ["package,introduced,mended_in,last_affected,fault", "django,5.2,5.2.8,,CVE-2025-64459"]
    assert "Django CVE-2025-64459 is in the database by now: take the line out." in capsys.readouterr().out
