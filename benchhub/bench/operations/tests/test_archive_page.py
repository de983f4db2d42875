"""Administrators see the archive, set its rule, and look beforehand what it would move."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.accounts.models import Entry
from benchhub.bench import testing
from benchhub.bench.models import ArchiveRule, Attempt, Evidence
from benchhub.bench.operations import archive_page
from benchhub.bench.results import archive as moves
from benchhub.catalog.models import Hardware

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(settings, tmp_path):
    place = {"BACKEND": "benchhub.archive.Folder", "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "archive": place}
    return tmp_path


@pytest.fixture
def admin(client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    return client


@pytest.fixture
def old_run():
    system = testing.make_system("16", testing.make_host(), Hardware.objects.create(sockets=1, cores_per_socket=4))
    run = testing.make_run(testing.make_experiment([system]), system, 8, 1, spec=testing.whole_spec())
    testing.succeeded(run, 1000.0)
    testing.with_everything(run)
    Attempt.objects.filter(run=run).update(ended_at=timezone.now() - timedelta(days=100))
    return run


def test_a_look_says_what_would_move_and_saves_nothing(admin, folder, old_run):
    answer = admin.post("/archive/", {"after_days": "99", "look": "yes"})
    assertContains(answer, "This would move 1 file of 11 bytes now")
    assertContains(answer, 'value="99"')
    assert not ArchiveRule.objects.exists() and not Evidence.objects.archived().exists()


def test_a_rule_is_saved_and_the_page_says_when_files_moved_last(admin, folder, old_run):
    assertRedirects(admin.post("/archive/", {"after_days": "99"}), "/archive/")
    assertContains(admin.get("/archive/"), "Nothing has moved yet by this rule.")
    moves.move_due()
    page = admin.get("/archive/")
    assertContains(page, "The archive holds 1 file of 11 bytes")
    assertContains(page, "1 file since the rule")
    [entry] = Entry.objects.filter(action="archive")
    assert entry.detail == "after days: 99"
    ArchiveRule.objects.update(trouble="The disk is full.")
    admin.post("/archive/", {"after_days": "50"})
    assertContains(admin.get("/archive/"), "Nothing has moved yet by this rule.")
    assertNotContains(admin.get("/archive/"), "The disk is full.")
    admin.post("/archive/", {"after_days": ""})
    assert not ArchiveRule.objects.exists() and Evidence.objects.archived().exists()


@pytest.mark.parametrize("days", ["0", "-1", "soon", "36501"])
def test_what_is_no_number_of_days_is_refused_and_stays_in_its_field(admin, folder, days):
    answer = admin.post("/archive/", {"after_days": days})
    assertContains(answer, f'value="{days}"')
    assertContains(answer, 'class="why"')
    assert not ArchiveRule.objects.exists()


def test_a_rule_without_an_archive_is_refused_with_what_to_do(admin):
    assertContains(admin.post("/archive/", {"after_days": "99"}), "ARCHIVE_DIR", count=2)
    assert not ArchiveRule.objects.exists()


def test_a_check_names_the_files_that_the_archive_has_lost(admin, folder, old_run):
    assertContains(admin.post("/archive/", {"check": "yes"}), "The archive is empty")
    moves.move(99)
    assertContains(admin.post("/archive/", {"check": "yes"}), "all whole")
    for file in folder.rglob("*.gz"):
        file.unlink()
    answer = admin.post("/archive/", {"check": "yes"})
    assertContains(answer, f"out.log of run {old_run.pk}")
    assertNotContains(answer, "all whole")


def test_what_is_counted_at_once_has_an_end(admin, folder, old_run, monkeypatch):
    log = {"name": "err.log", "content": b"more", "size_bytes": 4, "sha256": "0" * 64}
    Evidence.objects.create(attempt=Attempt.objects.get(), **log)
    monkeypatch.setattr(archive_page, "MOST_COUNTED", 1)
    answer = admin.post("/archive/", {"after_days": "99", "look": "yes"})
    assertContains(answer, "This would move more than 1 file of")


def test_a_rule_that_is_set_while_a_batch_moves_begins_anew(folder, old_run, monkeypatch):
    ArchiveRule.objects.set(99)
    move = moves._move
    monkeypatch.setattr(moves, "_move", lambda file: (ArchiveRule.objects.set(50), move(file))[1])
    moves.move_due()
    rule = ArchiveRule.objects.get()
    assert (rule.after_days, rule.moved_files, rule.last_file) == (50, 0, 0)
    assert Evidence.objects.archived().count() == 1
