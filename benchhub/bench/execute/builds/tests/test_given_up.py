"""What ends a build is evidence of its host or a person; no host keeps others that share its hardware for ever."""

from dataclasses import replace

import pytest
from django.db.models.functions import Now

from benchhub.bench.additions import builds as turns
from benchhub.bench.conftest import PATIENCE_S
from benchhub.bench.execute import loop
from benchhub.bench.execute.builds import outcomes, steps, visits
from benchhub.bench.execute.connections import connections
from benchhub.bench.execute.visits import with_builds
from benchhub.bench.models import Hold
from benchhub.catalog.models import Host, SourceBuild
from runners import job
from runners.ssh import RemoteFailure, Unreachable

pytestmark = [pytest.mark.django_db, pytest.mark.target]
BIN = {"bin_directory": "/data/builds/1/bin", "version": "17.2"}


@pytest.fixture
def build(host):
    """A build of a tarball that is nowhere: it holds its host, and nothing has been sent."""
    made = SourceBuild(host=host, kind="tarball", revision="a" * 64, place="/nowhere.tgz")
    made.digest = made.recipe.digest
    made.save()
    assert turns.take_turns() == 1
    made.refresh_from_db()
    return made


def test_a_tag_is_built_by_its_commit_and_a_moved_one_is_another_build(build):
    commits = ("1" * 40, "2" * 40)
    git = {"kind": "git", "revision": "REL_17_2", "place": "https://example.org/postgresql.git"}
    rows = [
        SourceBuild.objects.create(host=build.host, **git, digest=str(number), state="building") for number in range(3)
    ]
    for row, commit in zip(rows, (*commits, commits[0]), strict=True):
        assert visits.visit_of(row).purpose == "resolve"
        outcomes.store(row, visits.claimed(row), steps.Resolved(commit), visits.LOOK_AFTER, visits.BUSY_FOR)
        row.refresh_from_db()
    first, moved, same = rows
    assert (first.revision, moved.revision) == commits and first.digest != moved.digest
    assert first.digest == first.recipe.digest and visits.visit_of(first).purpose == "start"
    assert moved.source_text == f"git REL_17_2 ({'2' * 12})"
    assert (same.state, same.revision) == ("cancelled", "REL_17_2")
    text = "REL_17_2 is commit 111111111111, of which this host has a build with these options already. That one"
    assert (same.error, first.state, first.number) == (f"{text} is being built.", "building", 1)

    SourceBuild.objects.filter(pk=first.pk).update(state="failed")
    again = SourceBuild.objects.create(host=build.host, **git, digest="4", state="building", jobs=3)
    outcomes.store(again, visits.claimed(again), steps.Resolved(commits[0]), visits.LOOK_AFTER, visits.BUSY_FOR)
    again.refresh_from_db()
    first.refresh_from_db()
    assert (again.state, again.error) == ("cancelled", f"{text} failed, and is built anew now.")
    assert (first.state, first.number, first.jobs) == ("waiting", 2, 3)


def test_a_tag_that_another_visit_has_resolved_meanwhile_is_built_and_does_not_stand_in_its_own_way(build):
    git = {"kind": "git", "revision": "REL_17_2", "place": "https://example.org/postgresql.git"}
    stale = SourceBuild.objects.create(host=build.host, **git, digest="1", state="building")
    for _ in range(2):
        row = SourceBuild.objects.get(pk=stale.pk)
        outcomes.store(row, visits.claimed(row), steps.Resolved("1" * 40), visits.LOOK_AFTER, visits.BUSY_FOR)
        row.refresh_from_db()
        assert (row.state, row.revision) == ("building", "1" * 40)
    assert visits._claim(stale) and visits.visit_of(stale).purpose == "start"


def done(coroutine):
    return loop.submit(coroutine).result(timeout=PATIENCE_S)


def given_up(visit):
    return done(steps._given_up(connections(), visit, RemoteFailure("Its start failed.", 1)))


def test_a_start_that_failed_beside_one_that_began_goes_on(build):
    visit = visits.visit_of(build)
    assert done(steps.step(connections(), visit)) == steps.Started()
    assert given_up(visit) == steps.Started()
    assert not done(job.look(connections(), visit.target, visit.attempt)).cancelled


def test_a_start_that_failed_before_anything_began_is_given_up_behind_a_tombstone(build):
    visit = visits.visit_of(build)
    assert given_up(visit).outcome.error == "Its start failed."
    assert done(steps.step(connections(), visit)).outcome.error == steps.WITHDRAWN


def test_a_start_is_not_given_up_while_another_is_at_work_or_nothing_tells(build, monkeypatch):
    visit = visits.visit_of(build)
    for returncode in (job.ANOTHER_AT_WORK, None):

        async def cancel(*_, code=returncode, **__):
            raise RemoteFailure("No tombstone.", code)

        monkeypatch.setattr(steps.job, "cancel", cancel)
        with pytest.raises(RemoteFailure):
            given_up(visit)


def test_a_build_that_was_ended_is_cancelled_whatever_its_host_hands_over(build, monkeypatch):
    async def collect(*_):
        raise RemoteFailure("The disk is broken.", 1)

    monkeypatch.setattr(steps.work, "collect", collect)
    assert build.cancel()
    visits.visit_builds()
    build.refresh_from_db()
    assert (build.state, build.error) == ("cancelled", steps.CANCELLED)
    assert not Hold.objects.exists()


def test_a_host_that_does_not_hand_over_what_a_build_left_is_asked_so_often_and_no_more(build, monkeypatch):
    async def collect(*_):
        raise RemoteFailure("The disk is broken.", 1)

    monkeypatch.setattr(steps.work, "collect", collect)
    visit = visits.visit_of(build)
    for _ in range(steps.MOST_COLLECTIONS - 1):
        with pytest.raises(RemoteFailure):
            done(steps._collect(connections(), visit, 0))
    error = done(steps._collect(connections(), visit, 0)).error
    assert error.endswith("did not hand over what it left in 5 tries. The disk is broken.")


def test_a_host_that_answers_looks_but_hands_nothing_over_in_time_is_asked_so_often_and_no_more(build, monkeypatch):
    monkeypatch.setattr(steps, "COLLECT_PATIENCE_S", 0)
    visit = visits.visit_of(build)
    away = replace(visit, target=replace(visit.target, port=1))
    for unreached in [away] * steps.MOST_COLLECTIONS:
        with pytest.raises(Unreachable):
            done(steps._collect(connections(), unreached, 0))
    for _ in range(steps.MOST_COLLECTIONS - 1):
        with pytest.raises(TimeoutError):
            done(steps._collect(connections(), visit, 0))
    assert done(steps._collect(connections(), visit, 0)).error.endswith(f"left in 5 tries. {steps.TOO_SLOW}")


def test_a_person_gives_up_a_build_whose_host_is_away_and_its_job_ends_when_it_is_back(build, host):
    Host.objects.update(port=1)
    assert build.cancel()
    assert Hold.objects.filter(build=build).exists()  # no worker has tried yet
    visits.visit_builds()
    build.refresh_from_db()
    assert build.state == "building" and build.contact_error
    assert build.cancel()
    build.refresh_from_db()
    assert (build.state, build.is_tidy) == ("cancelled", False) and not Hold.objects.exists()
    Host.objects.update(port=host.port)
    visit = visits.visit_of(SourceBuild.objects.get())
    visits.visit_builds()
    build.refresh_from_db()
    assert build.is_tidy
    begin = steps._start(connections(), visit)
    assert done(begin) in (steps.Started(), steps.Ended(steps.Outcome(steps.EMPTY_LOG, steps.CANCELLED), True))
    assert not done(job.look(connections(), visit.target, visit.attempt)).lock_held


def test_a_probe_that_began_before_a_build_ended_loses_none_and_brings_no_removed_one_back(build):
    SourceBuild.objects.update(state="built", facts=BIN, ended_at=Now())
    other = {"bin_directory": "/usr/bin"}
    assert with_builds(build.host_id, {"builds": [other]})["builds"] == [other, BIN]
    assert with_builds(build.host_id, {"builds": [BIN]})["builds"] == [BIN]
    build.refresh_from_db()
    assert build.ask_to_remove()
    assert with_builds(build.host_id, {"builds": [other, BIN]})["builds"] == [other]
