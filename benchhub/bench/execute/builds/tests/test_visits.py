"""Builds on a real host: they take their turn, hold the host, survive workers, and end among its programs."""

import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from benchhub.bench.additions import builds as turns
from benchhub.bench.additions import due
from benchhub.bench.conftest import PATIENCE_S
from benchhub.bench.execute.builds import outcomes, visits
from benchhub.bench.models import Hold, Run
from benchhub.bench.models.states import State
from benchhub.bench.queue import gates, queue
from benchhub.catalog.models import (
    Configuration,
    Host,
    Instance,
    InterferenceGroup,
    PgBuild,
    SourceBuild,
    SourceBuildLog,
)
from runners.builds.testing import make_source, make_tarball
from tests import places

pytestmark = [pytest.mark.django_db, pytest.mark.target]


@dataclass
class Site:
    """A tarball on the host, and builds of it."""

    host: Host
    folder: Path
    sha256: str

    def asked(self, *options):
        build = SourceBuild(
            host=self.host, kind="tarball", revision=self.sha256, place=f"{self.folder}/source.tgz", options=[*options]
        )
        build.digest = build.recipe.digest
        build.save()
        return build

    def block(self):
        (self.folder / "blocker-wait").touch()

    def free(self):
        (self.folder / "blocker-wait").unlink()

    def home(self, build):
        return Path(self.host.work_directory, "builds", build.digest)


@pytest.fixture
def site(host):
    with places.held(places.SERVERS) as held:
        held.chmod(0o755)
        folder = held / "source"
        folder.mkdir()
        sha256 = make_tarball(make_source(folder / "postgresql", folder / "blocker"), folder / "source.tgz")
        folder.chmod(0o777)
        yield Site(host, folder, sha256)


def until(build, *states, is_step=""):
    """Take turns and visits, as ticks do, until the build is in one of the states, or at the step."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        turns.take_turns()
        SourceBuild.objects.filter(visit_until__isnull=False, contact_error="").update(visit_until=None)
        visits.visit_builds()
        build.refresh_from_db()
        if build.state in states or (is_step and build.step == is_step):
            return build
        assert time.monotonic() < deadline, (build.state, build.step, build.contact_error, build.error)
        time.sleep(0.1)  # its host builds on by itself: nothing tells when it is done


def test_a_build_ends_among_the_programs_of_its_host_with_its_source_and_its_log(site, host):
    build = until(site.asked("--without-icu"), "built", "failed")
    assert (build.state, build.error) == ("built", "")
    host.refresh_from_db()
    facts = host.build_facts(build.bin_directory)
    assert (facts["version"], facts["version_num"]) == ("17.2", 170002)
    assert "--without-icu" in facts["configure"] and build.bin_directory == f"{site.home(build)}/bin"
    assert build.source_facts["sha256"] == site.sha256 and build.source_facts["compiler"]
    log = SourceBuildLog.objects.get(build=build)
    assert log.number == 1 and log.sha256 == log.whole_sha256 and b"== make" in bytes(log.content)
    assert "== check" in build.log_tail
    assert not Hold.objects.exists()
    until(build, "built")  # and what the job left is tidied up
    assert build.is_tidy


def test_while_it_builds_no_run_is_reserved_on_its_host_and_afterwards_the_run_goes_on(
    site, system, cluster16, experiment, worker
):
    site.block()
    build = until(site.asked(), "failed", is_step="make")
    assert "== make" in build.log_tail and build.log_offset > 0
    run = experiment(system(cluster16)).runs.order_by("position").first()
    assert due.reserve() == []
    assert gates.sentences(gates.with_gates(Run.objects.filter(pk=run.pk)).get()) == [
        "Its host, its server or hardware that they share is busy or rests."
    ]
    Hold.objects.update(free_at=Now() - timedelta(days=1))  # a worker was away for long: it is held all the same
    assert due.reserve() == []
    site.free()
    assert until(build, "built", "failed").state == "built"
    assert due.reserve() == [run.pk]


def test_the_job_of_a_build_that_was_given_up_is_ended_by_the_next_one_which_needs_its_host(site):
    site.block()
    build = until(site.asked(), "failed", is_step="make")
    SourceBuild.objects.update(is_cancel_asked=True, contact_error="Its host is away.")
    build.refresh_from_db()
    assert build.cancel()
    assert SourceBuild.objects.get().state == "cancelled"
    assert build.ask() and turns.take_turns() == 1
    visits.visit_builds()
    build.refresh_from_db()
    assert (build.state, build.number, build.contact_error) == ("waiting", 2, outcomes.WAITS)
    site.free()
    SourceBuild.objects.update(visit_until=None, contact_error="")
    assert until(build, "built", "failed").state == "built"


def test_a_build_waits_for_the_run_under_way_and_comes_before_those_that_wait(site, system, cluster16, experiment):
    runs = experiment(system(cluster16), repeats=2).runs
    [first] = due.reserve()
    build = site.asked()
    due.reserve()
    build.refresh_from_db()
    assert (build.state, build.contact_error) == ("waiting", turns.BUSY)
    Hold.objects.filter(run=first).delete()
    Run.objects.filter(pk=first).update(state=State.QUEUED)
    assert due.reserve() == [] and runs.queued().exists()
    build.refresh_from_db()
    assert build.state == "building" and Hold.objects.get().build == build


def test_a_build_begins_when_the_rest_after_a_run_is_over_before_the_next_run(site, system, cluster16, experiment):
    runs = experiment(system(cluster16), repeats=2, rest_s=60).runs
    [first] = due.reserve()
    build = site.asked()
    queue.release(Run.objects.get(pk=first))
    Run.objects.filter(pk=first).update(state=State.QUEUED)
    assert due.reserve() == []
    build.refresh_from_db()
    assert (build.state, build.contact_error) == ("waiting", turns.BUSY)
    Hold.objects.update(free_at=Now() - timedelta(seconds=1))
    assert due.reserve() == [] and runs.queued().exists()
    build.refresh_from_db()
    assert build.state == "building" and Hold.objects.get().build == build


def test_a_build_takes_a_host_and_its_group_in_the_order_in_which_runs_take_them(site, system, cluster16, experiment):
    Host.objects.update(interference_group=InterferenceGroup.objects.create(name="one box"))
    site.host.refresh_from_db()
    run = experiment(system(cluster16)).runs.order_by("position").first()
    taken = turns._resources(site.host)
    assert taken == [key for key in gates.resources(run.system) if key in taken] and len(taken) == 2


def test_an_untrusted_and_a_blocked_host_are_said_and_nothing_is_sent(site, host):
    build = site.asked()
    Host.objects.update(trust=Host.Trust.QUARANTINED)
    turns.take_turns()
    build.refresh_from_db()
    assert (build.state, build.contact_error) == ("waiting", turns.UNTRUSTED)
    Host.objects.update(trust=Host.Trust.PINNED)
    host.reservations.create(period=(timezone.now() - timedelta(hours=1), timezone.now() + timedelta(hours=1)))
    turns.take_turns()
    build.refresh_from_db()
    assert (build.state, build.contact_error) == ("waiting", turns.BLOCKED)
    assert not site.home(build).exists()


def test_a_worker_that_dies_at_any_moment_leaves_a_build_that_another_one_finishes(site):
    site.block()
    build = until(site.asked(), "failed", is_step="make")
    # As after a death between the start on the host and the note of it: the job is found again, and not started twice.
    SourceBuild.objects.update(started_at=None, step="", log_offset=0, log_tail="", visit_until=Now())
    until(build, "failed", is_step="make")
    assert build.started_at is not None
    # And a death half way in a visit: its lease ends.
    SourceBuild.objects.update(visit_until=Now() + timedelta(minutes=2))
    assert visits.visit_builds() == 0
    site.free()
    SourceBuild.objects.update(visit_until=Now() - timedelta(seconds=1))
    assert until(build, "built", "failed").state == "built"
    assert (site.folder / "blocker-begun").read_text() == "begun\n"


def test_what_an_old_visit_says_changes_nothing_once_the_build_was_cancelled(site):
    site.block()
    build = until(site.asked(), "failed", is_step="make")
    SourceBuild.objects.update(visit_until=None)
    old = SourceBuild.objects.get()
    assert visits._claim(old)
    assert build.cancel()
    assert not visits.claimed(old).update(error="old")
    until(build, "cancelled", "built", "failed")
    assert (build.state, build.error) == ("cancelled", "It was cancelled.")
    assert not Hold.objects.exists() and not list(site.home(build).parent.glob(f"{build.digest}*"))
    assert build.ask()
    site.free()
    assert until(build, "built", "failed").state == "built" and build.number == 2
    assert SourceBuildLog.objects.count() == 2


def test_a_build_that_waits_is_cancelled_at_once(site, host):
    build = site.asked()
    assert build.cancel()
    assert turns.take_turns() == 0 and visits.visit_builds() == 0
    build.refresh_from_db()
    assert (build.state, build.error) == ("cancelled", "Cancelled before it began.")
    assert not site.home(build).exists()


def test_a_failure_is_told_with_its_log_and_the_host_is_free_again(site):
    (site.folder / "blocker-readline").touch()
    build = until(site.asked(), "built", "failed")
    assert build.state == "failed" and build.error.startswith("configure failed: readline library not found. Install")
    assert b"readline library not found" in bytes(build.logs.get().content)
    assert not Hold.objects.exists()


def test_a_build_is_removed_when_no_instance_uses_it_and_not_before(site, host):
    build = until(site.asked(), "built", "failed")
    host.refresh_from_db()
    instance = Instance.objects.create(
        name="own",
        host=host,
        build=PgBuild.from_facts(host.build_facts(build.bin_directory)),
        configuration=Configuration.objects.create(name="as found"),
        database="bench",
        username=host.username,
        bin_directory=build.bin_directory,
    )
    assert build.ask_to_remove()
    host.refresh_from_db()
    assert host.facts["builds"] == []  # nobody is offered what is being removed
    until(build, "built", "removed")
    assert (build.state, build.contact_error) == ("built", visits.USED) and site.home(build).exists()
    host.refresh_from_db()
    assert host.build_facts(build.bin_directory) == build.facts
    Instance.objects.filter(pk=instance.pk).update(retired_at=Now())
    Host.objects.update(work_directory=f"{host.work_directory}-moved")
    assert build.ask_to_remove()
    until(build, "removed", "built")
    assert build.state == "removed" and not site.home(build).exists()
    host.refresh_from_db()
    assert host.facts["builds"] == []
