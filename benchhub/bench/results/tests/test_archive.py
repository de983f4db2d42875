"""What old runs left moves from the warehouse to an archive, and is read from there as if it had not."""

import gzip
import hashlib
import io
import os
import signal
import subprocess
import sys
import tarfile
import time
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from benchhub import archive
from benchhub.bench import testing
from benchhub.bench.models import ArchiveRule, Attempt, CitedRun, Evidence
from benchhub.bench.operations import doctor
from benchhub.bench.results import archive as moves
from benchhub.catalog.models import Hardware

pytestmark = pytest.mark.django_db
OUTPUT = b"tps = 1000\n"
SHA256 = hashlib.sha256(OUTPUT).hexdigest()
TWO_DAYS_AGO = time.time() - 2 * 24 * 3600


@pytest.fixture
def folder(settings, tmp_path):
    place = {"BACKEND": "benchhub.archive.Folder", "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "archive": place}
    return tmp_path


@pytest.fixture
def run():
    """A run that ended 100 days ago and left command.sh and out.log."""
    hardware = Hardware.objects.create(name="Box", sockets=1, cores_per_socket=4)
    system = testing.make_system("16", testing.make_host(), hardware, path="loopback")
    experiment = testing.make_experiment([system])
    old = testing.make_run(experiment, system, 8, 1, spec=testing.whole_spec())
    testing.succeeded(old, 1000.0)
    testing.with_everything(old)
    Attempt.objects.filter(run=old).update(ended_at=timezone.now() - timedelta(days=100))
    return old


def output():
    return Evidence.objects.get(name="out.log")


def in_warehouse():
    return set(Evidence.objects.exclude(content=b"").values_list("name", flat=True))


def test_a_file_moves_when_its_run_is_old_enough_and_its_command_stays(run, folder):
    assert moves.movable(101) == moves.Extent(0, 0) != moves.movable(99)
    assert moves.move(101).extent.files == 0 and not list(folder.iterdir())
    assert moves.move(99).extent == moves.Extent(1, len(OUTPUT))
    assert in_warehouse() == {"command.sh"}
    assert gzip.decompress((folder / SHA256[:2] / f"{SHA256}.gz").read_bytes()) == OUTPUT
    file = output()
    assert (file.read(), file.sha256, file.size_bytes) == (OUTPUT, SHA256, len(OUTPUT)) and file.archived_at
    assert moves.move(99).extent.files == 0


def test_a_file_comes_back_and_the_archive_keeps_its_own_for_backups(run, folder):
    moves.move(99)
    assert moves.fetch_back(run.pk + 1).extent.files == 0
    assert moves.fetch_back(run.pk).extent.files == 1
    assert (bytes(output().content), output().archived_at) == (OUTPUT, None)
    assert archive.get(SHA256, len(OUTPUT)) == OUTPUT


def test_a_run_that_a_snapshot_cites_keeps_its_files(run, folder):
    CitedRun.objects.cite([run.pk, 10**9])
    assert moves.movable(99) == moves.move(99).extent == moves.Extent()


def test_a_file_with_another_checksum_than_was_noted_stays(run, folder):
    Evidence.objects.filter(name="out.log").update(content=b"tps = 9999\n")
    [failure] = moves.move(99).failures
    assert "another checksum" in failure and f"run {run.pk}" in failure
    assert in_warehouse() == {"command.sh", "out.log"}


def test_a_move_that_was_killed_after_its_file_was_written_is_done_again(run, folder):
    damaged = folder / SHA256[:2] / f"{SHA256}.gz"
    archive.put(OUTPUT, SHA256)
    damaged.write_bytes(damaged.read_bytes()[:9])
    assert moves.move(99).failures == () and output().read() == OUTPUT


# A move in a process of its own, which is killed where it calls the function of this name.
KILLED_MOVE = """\
import os, signal, sys
from pydoc import locate
import django
django.setup()
from benchhub.bench.results import archive as moves
place, name = sys.argv[1:]
setattr(locate(place), name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
moves.move(99)
"""
# Before it writes, with its file written but not in place, with its file in place, and with its file read back.
STEPS = [
    pytest.param("benchhub.archive.Folder", "_save", marks=pytest.mark.whole),
    pytest.param("os", "fsync", marks=pytest.mark.whole),
    ("benchhub.archive", "_sync_folder"),
    ("django.db.models.QuerySet", "update"),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("place", "name"), STEPS)
def test_a_process_that_is_killed_at_any_step_loses_nothing_and_the_move_goes_on(run, folder, place, name):
    assert killed_at(place, name, folder) == -signal.SIGKILL
    assert (output().read(), output().archived_at) == (OUTPUT, None)
    assert moves.move(99) == moves.Outcome(moves.Extent(1, len(OUTPUT)), (), output().pk)
    assert output().read() == archive.get(SHA256, len(OUTPUT)) == OUTPUT


def killed_at(place, name, folder):
    """Begin a move in a process of its own, which dies where it calls `name`; returns its exit code."""
    environment = {**os.environ, "DATABASE_URL": warehouse_url(), "ARCHIVE_DIR": str(folder), "SECRET_KEY": "x"}
    return subprocess.run([sys.executable, "-c", KILLED_MOVE, place, name], env=environment, timeout=240).returncode


def warehouse_url():
    place = connection.settings_dict
    return f"postgresql://{place['USER']}:{place['PASSWORD']}@{place['HOST']}:{place['PORT']}/{place['NAME']}"


def test_what_a_killed_process_left_half_written_is_removed_after_a_day(folder):
    beside = folder / SHA256[:2]
    beside.mkdir()
    fresh, left, of_others = (beside / name for name in (".unfinished-new", ".unfinished-old", ".snapshot"))
    cannot_be_removed = beside / ".unfinished-folder"
    cannot_be_removed.mkdir()
    for file in (fresh, left, of_others):
        file.touch()
    for file in (left, of_others, cannot_be_removed):
        os.utime(file, (TWO_DAYS_AGO, TWO_DAYS_AGO))
    archive.put(OUTPUT, SHA256)
    assert archive.get(SHA256, len(OUTPUT)) == OUTPUT
    assert {file.name for file in beside.glob(".*")} == {".snapshot", ".unfinished-folder", ".unfinished-new"}


def test_a_folder_of_the_archive_is_searched_once_a_day_and_not_at_each_file(tmp_path):
    left = tmp_path / "ab" / ".unfinished-old"
    storage = archive.Folder(str(tmp_path))
    for number, is_left in ((1, False), (2, True)):
        left.parent.mkdir(exist_ok=True)
        left.touch()
        os.utime(left, (TWO_DAYS_AGO, TWO_DAYS_AGO))
        storage.save(f"ab/{number}.gz", ContentFile(OUTPUT))
        assert left.exists() == is_left
    archive.Folder(str(tmp_path)).save("ab/3.gz", ContentFile(OUTPUT))
    assert not left.exists(), "another process looks as well"


def test_two_at_a_time_move_a_file_once(run, folder):
    first, second = output(), output()
    assert moves._move(first) and not moves._move(second)
    assert output().read() == OUTPUT


def test_nothing_leaves_the_warehouse_while_the_archive_cannot_be_written(run, folder):
    (folder / SHA256[:2]).write_text("a file where a folder should be")
    [failure] = moves.move(99).failures
    assert "The archive cannot be" in failure
    assert in_warehouse() == {"command.sh", "out.log"}


def test_pages_and_bundle_read_the_archive(run, folder, planner):
    moves.move(99)
    assert planner.get(reverse("evidence", args=[run.pk, "out.log"])).content == OUTPUT
    assert "In the archive since" in planner.get(reverse("run", args=[run.pk])).content.decode()
    assert bundle_of(run, planner)["evidence/out.log"] == OUTPUT


@pytest.mark.parametrize("content", [OUTPUT, b"", os.urandom(300_000)], ids=["text", "nothing", "noise"])
def test_what_can_be_packed_well_and_what_cannot_comes_back_alike(folder, content):
    digest = hashlib.sha256(content).hexdigest()
    archive.put(content, digest)
    assert archive.get(digest, len(content)) == content


def test_a_file_that_was_made_to_take_memory_is_not_read_to_its_end(folder):
    archive.put(OUTPUT, SHA256)
    place = folder / SHA256[:2] / f"{SHA256}.gz"
    bomb = gzip.compress(bytes(5_000_000))
    assert len(archive._inflated(bomb, 1000)) == 1000
    for harm in (lambda: place.write_bytes(bomb), lambda: (place.unlink(), place.symlink_to("/dev/zero"))):
        harm()
        assert len(archive._packed(archive.place(SHA256), 1000)) == 1000
        with pytest.raises(archive.ArchiveError, match="damaged"):
            archive.get(SHA256, len(OUTPUT))


@pytest.mark.parametrize("harm", ["missing", "damaged", "not set up"])
def test_what_the_archive_does_not_have_is_said_in_a_sentence(run, folder, planner, settings, harm):
    moves.move(99)
    file = folder / SHA256[:2] / f"{SHA256}.gz"
    if harm == "missing":
        file.unlink()
    elif harm == "damaged":
        file.write_bytes(gzip.compress(b"tps = 9999\n"))
    else:
        settings.STORAGES = {name: value for name, value in settings.STORAGES.items() if name != "archive"}
    answer = planner.get(reverse("evidence", args=[run.pk, "out.log"]))
    assert (answer.status_code, b"archive" in answer.content) == (409, True)
    assert planner.get(reverse("run", args=[run.pk])).status_code == 200
    files = bundle_of(run, planner)
    assert "evidence/out.log" not in files and b"archive" in files["evidence/out.log.not-here.txt"]


def bundle_of(run, client):
    with tarfile.open(fileobj=io.BytesIO(client.get(f"/runs/{run.pk}/bundle.tar.gz").content)) as tar:
        files = {name.partition("/")[2]: tar.extractfile(name) for name in tar.getnames()}
        return {name: file.read() for name, file in files.items()}


def test_a_rule_moves_batches_until_nothing_is_left_then_rests(run, folder):
    moves.move_due()
    assert in_warehouse() == {"command.sh", "out.log"}, "there is no rule"
    ArchiveRule.objects.create(after_days=99)
    moves.move_due()
    assert in_warehouse() == {"command.sh"}
    assert ArchiveRule.objects.due().exists()
    moves.move_due()
    assert not ArchiveRule.objects.due().exists()
    assert ArchiveRule.objects.get().last_file == 0


def test_a_file_that_cannot_be_moved_holds_up_no_other(run, folder):
    ArchiveRule.objects.create(after_days=99)
    Evidence.objects.filter(name="out.log").update(content=b"tps = 9999\n")
    content = b"telemetry 1\n"
    sha256 = hashlib.sha256(content).hexdigest()
    fields = {"content": content, "size_bytes": len(content), "sha256": sha256}
    Evidence.objects.create(attempt=run.attempts.get(), name="telemetry.log", **fields)
    moves.move_due()
    assert in_warehouse() == {"command.sh", "out.log"}
    assert "out.log" in ArchiveRule.objects.get().trouble
    [finding] = [finding for finding in doctor.quick() if finding.name == "archive"]
    assert finding.level == "warn" and "out.log" in finding.text


def test_the_command_sets_a_rule_only_where_there_is_an_archive(run, folder, settings, capsys):
    call_command("archive", rule="99", dry_run=True)
    assert "1 file of 11 bytes" in capsys.readouterr().out and not ArchiveRule.objects.exists()
    for wrong in ("0", "-1", "1.5", "soon"):
        with pytest.raises(CommandError, match="a number of days"):
            call_command("archive", rule=wrong)
    call_command("archive", rule="99")
    call_command("archive", rule="off")
    assert not ArchiveRule.objects.exists()
    settings.STORAGES = {name: value for name, value in settings.STORAGES.items() if name != "archive"}
    with pytest.raises(CommandError, match="ARCHIVE_DIR"):
        call_command("archive", rule="99")
