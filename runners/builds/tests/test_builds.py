"""Builds on a real target over SSH, of a source that builds in an instant."""

import asyncio
import os
import shutil
import signal
import subprocess
import time
from dataclasses import replace

import pytest

from runners import job
from runners.builds import tags
from runners.builds import work as builds
from runners.builds.recipe import Recipe
from runners.builds.tags import TagError
from runners.builds.testing import make_repository, make_source, make_tarball
from runners.clusters.visit import HostBusyError
from runners.conftest import PATIENCE_S
from runners.job import StartOutcome
from runners.ssh import RemoteFailure
from runners.tests.processes import heart, is_free, until_wrapper_ended

pytestmark = pytest.mark.target


class Bench:
    """A target with a source, and the few words of the tests."""

    def __init__(self, connections, target, attempt, place, work):
        self.connections, self.target, self.attempt = connections, target, attempt
        self.place, self.work, self.blocker = place, work, place / "blocker"
        self.source = make_source(place / "postgresql-17.2", self.blocker)
        self.tarball = place / "postgresql-17.2.tar.gz"
        self.sha256 = make_tarball(self.source, self.tarball)
        for path in (place, *place.rglob("*")):
            path.chmod(0o777 if path.is_dir() or os.access(path, os.X_OK) else 0o666)

    def order(self, *options, deadline_s=600, **changes):
        recipe = Recipe("tarball", self.sha256, str(self.tarball), options)
        return builds.Order(replace(recipe, **changes), 1, deadline_s)

    def home(self, order):
        return self.work / "builds" / order.recipe.digest

    @property
    def folder(self):
        return self.work / "runs" / self.attempt.run / str(self.attempt.number)

    def block(self, name):
        (self.place / f"blocker-{name}").touch()

    def free(self, name):
        (self.place / f"blocker-{name}").unlink()

    def times_built(self):
        begun = self.place / "blocker-begun"
        return len(begun.read_text().splitlines()) if begun.exists() else 0

    async def begin(self, order, number=1):
        self.attempt = replace(self.attempt, number=number)
        return await builds.begin(self.connections, self.target, self.attempt, order)

    async def look(self):
        return await job.look(self.connections, self.target, self.attempt)

    async def outcome(self, order):
        assert await job.wait_for_end(self.connections, self.target, self.attempt, timeout_s=PATIENCE_S)
        await until_wrapper_ended(self.folder)
        return await builds.collect(self.connections, self.target, self.attempt, order, (await self.look()).returncode)

    async def build(self, order, number=1):
        assert await self.begin(order, number) is StartOutcome.STARTED
        return await self.outcome(order)

    async def until(self, is_so):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if is_so():
                return
            await asyncio.sleep(0.1)
        raise AssertionError((await self.look()).out_chunk)

    async def until_it_makes(self):
        await self.until(self.times_built)


@pytest.fixture
def bench(connections, target, attempt, work, login):
    place = login.home / f"source-{work.name}"
    place.mkdir()
    yield Bench(connections, target, attempt, place, work)
    shutil.rmtree(place)


async def test_a_tarball_becomes_a_build_with_its_options_and_nothing_else_is_left(bench):
    order = bench.order("--without-icu", "CFLAGS=-O3 -g")
    outcome = await bench.build(order)
    assert outcome.error == ""
    assert outcome.facts["version_num"] == 170002 and outcome.facts["bin_directory"] == f"{bench.home(order)}/bin"
    assert f"--prefix={bench.home(order)}" in outcome.facts["configure"]
    assert outcome.source["sha256"] == bench.sha256 and outcome.source["compiler"]
    assert b"== configure" in outcome.log.content and b"CFLAGS=-O3 -g" in outcome.log.content
    assert outcome.log.sha256 == outcome.log.whole_sha256
    assert (bench.home(order) / "mark").read_text() == f"{order.recipe.digest}\n"
    assert [path.name for path in bench.home(order).parent.iterdir()] == [order.recipe.digest]


async def test_the_same_digest_twice_builds_once(bench):
    order = bench.order()
    await bench.build(order)
    outcome = await bench.build(order, number=2)
    assert outcome.error == "" and outcome.facts["version"] == "17.2"
    assert b"It was built before" in outcome.log.content
    assert bench.times_built() == 1
    assert await bench.begin(order, number=2) is StartOutcome.ALREADY_STARTED


async def test_a_release_is_fetched_with_its_checksum_and_a_wrong_one_is_refused(bench):
    folder = bench.place / "v17.2"
    folder.mkdir(mode=0o755)
    shutil.copy(bench.tarball, folder)
    (folder / "postgresql-17.2.tar.gz.sha256").write_text(f"{bench.sha256}  postgresql-17.2.tar.gz\n")
    order = bench.order(kind="release", revision="17.2", place=f"file://{bench.place}")
    assert (await bench.build(order)).source["sha256"] == bench.sha256
    (folder / "postgresql-17.2.tar.gz.sha256").write_text(f"{'0' * 64}  postgresql-17.2.tar.gz\n")
    outcome = await bench.build(bench.order("--without-icu", **vars_of(order)), number=2)
    assert outcome.error.startswith(f"The tarball's SHA-256 is {bench.sha256}, and not {'0' * 64}: nothing of it")
    outcome = await bench.build(bench.order(**{**vars_of(order), "revision": "17.99"}), number=3)
    assert (
        outcome.error == f"There is no file://{bench.place}/v17.99/postgresql-17.99.tar.gz.sha256: check the version."
    )


def vars_of(order):
    return {"kind": order.recipe.kind, "revision": order.recipe.revision, "place": order.recipe.place}


async def test_git_is_built_at_a_commit_or_a_tag_and_the_commit_is_written_down(bench, login):
    commit = make_repository(bench.source)
    for path in (bench.source / ".git", *(bench.source / ".git").rglob("*")):
        shutil.chown(path, login.username) if login.is_scratch else None
    shutil.chown(bench.source, login.username)
    place = {"kind": "git", "place": f"file://{bench.source}"}
    for number, revision in enumerate((commit, "REL_17_2"), start=1):
        outcome = await bench.build(bench.order(**place, revision=revision), number)
        assert (outcome.error, outcome.source and outcome.source["commit"]) == ("", commit)
    for number, revision in enumerate(("0" * 40, "REL_99"), start=3):
        outcome = await bench.build(bench.order(**place, revision=revision), number)
        assert outcome.error.startswith(f"There is no {revision} at file://")
    await asserts_tags(bench, place, commit)
    outcome = await bench.build(bench.order(kind="git", place=f"file://{bench.place}/no", revision="REL_17_2"), 5)
    assert outcome.error.startswith("The host could not fetch from file://")


async def asserts_tags(bench, place, commit):
    """A tag is told by its commit, also where it is an object of its own, and anew once it was moved."""

    def tag(*words):
        subprocess.run(["git", "-c", "safe.directory=*", "-C", bench.source, *words], check=True, capture_output=True)

    async def commit_of(revision):
        return await tags.resolve(bench.connections, bench.target, bench.order(**place, revision=revision).recipe)

    author = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    tag(*author, "tag", "-a", "-m", "of its own", "OWN")
    assert {await commit_of("REL_17_2"), await commit_of("OWN")} == {commit}
    tag(*author, "commit", "--allow-empty", "-q", "-m", "later")
    tag("tag", "-f", "REL_17_2")
    moved = await commit_of("REL_17_2")
    assert moved != commit and await commit_of("OWN") == commit
    built = {bench.order(**place, revision=revision).recipe.digest for revision in (commit, moved, "REL_17_2")}
    assert len(built) == 3
    with pytest.raises(TagError, match="There is no REL_99 at file://"):
        await commit_of("REL_99")
    with pytest.raises(TagError, match="The host could not fetch from file://"):
        order = bench.order(kind="git", place=f"file://{bench.place}/no", revision="REL_17_2")
        await tags.resolve(bench.connections, bench.target, order.recipe)


async def test_each_failure_is_a_sentence_and_leaves_no_half_build(bench):
    bench.block("readline")
    outcome = await bench.build(bench.order())
    assert outcome.error.startswith("configure failed: readline library not found. Install libreadline-dev")
    assert (await bench.build(bench.order("--without-readline"), 2)).error == ""
    bench.free("readline")
    bench.block("error")
    assert "make failed: " in (await bench.build(bench.order(), 3)).error
    missing = await bench.build(bench.order(place="/no/such.tar.gz"), 4)
    assert missing.error == "There is no file /no/such.tar.gz on the host that its account can read."
    wrong = await bench.build(bench.order(revision="1" * 64), 5)
    assert wrong.error.startswith("The tarball's SHA-256 is")
    bench.tarball.write_bytes(b"no tarball")
    assert not [path for path in (bench.work / "builds").iterdir() if path.name.endswith(".new")]


async def test_programs_that_disagree_about_their_version_are_no_build(bench):
    source = make_source(bench.place / "odd", bench.blocker, config_version="17.3")
    sha256 = make_tarball(source, bench.place / "odd.tar.gz")
    order = bench.order(revision=sha256, place=f"{bench.place}/odd.tar.gz")
    assert (await bench.build(order)).error.startswith("The programs that were built do not run, or do not agree")
    assert not bench.home(order).exists()


@pytest.mark.parametrize("name", ["{}", "{}.new"])
async def test_a_folder_without_the_mark_is_somebody_elses(bench, name):
    order = bench.order()
    foreign = bench.work / "builds" / name.format(order.recipe.digest)
    foreign.mkdir(parents=True)
    (foreign / "precious").write_text("data")
    for path in (bench.work, bench.work / "builds", foreign, foreign / "precious"):
        shutil.chown(path, bench.target.username)
    assert "somebody else's. Nothing was touched." in (await bench.build(order)).error
    with pytest.raises(RemoteFailure, match="somebody else's"):
        await builds.remove(bench.connections, bench.target, bench.attempt, order.recipe.digest)
    assert (foreign / "precious").read_text() == "data"


async def test_it_holds_the_host_while_it_builds_and_its_log_grows(bench):
    order = bench.order()
    bench.block("wait")
    assert await bench.begin(order) is StartOutcome.STARTED
    await bench.until_it_makes()
    look = await bench.look()
    assert look.lock_held and look.step == "make" and b"== make" in look.out_chunk
    other = replace(bench.attempt, number=2)
    assert await builds.begin(bench.connections, bench.target, other, order) is StartOutcome.BUSY
    with pytest.raises(HostBusyError):
        await builds.remove(bench.connections, bench.target, bench.attempt, order.recipe.digest)
    bench.free("wait")
    assert (await bench.outcome(order)).error == ""
    await builds.remove(bench.connections, bench.target, bench.attempt, order.recipe.digest)
    await builds.remove(bench.connections, bench.target, bench.attempt, order.recipe.digest)
    assert not list((bench.work / "builds").iterdir())


async def test_a_build_that_is_cancelled_or_overdue_leaves_nothing_behind(bench):
    order = bench.order()
    bench.block("wait")
    await bench.begin(order)
    await bench.until_it_makes()
    await job.cancel(bench.connections, bench.target, bench.attempt, grace_s=2)
    await until_wrapper_ended(bench.folder)
    assert not list((bench.work / "builds").iterdir())
    overdue = await bench.build(bench.order(deadline_s=2), 2)
    assert overdue.error.startswith("It took longer than its deadline")
    assert not list((bench.work / "builds").iterdir())


async def test_what_a_killed_build_left_is_no_build_and_the_next_one_clears_it(bench):
    order = bench.order()
    bench.block("wait")
    await bench.begin(order)
    await bench.until_it_makes()
    kill_all_of(bench)
    await bench.until(lambda: is_free(bench.work / "host.lock"))
    assert (bench.work / "builds" / f"{order.recipe.digest}.new").exists() and not bench.home(order).exists()
    assert (await bench.look()).returncode is None
    outcome = await builds.collect(bench.connections, bench.target, bench.attempt, order, None)
    assert outcome.error and outcome.facts is None and b"== make" in outcome.log.content
    bench.free("wait")
    assert (await bench.build(order, 2)).error == ""
    assert [path.name for path in bench.home(order).parent.iterdir()] == [order.recipe.digest]


def kill_all_of(bench):
    """Kill the wrapper and all below it at once, as the kernel does where memory runs out."""
    _, wrapper, _, command, _ = (bench.folder / "pid").read_text().split()
    os.kill(heart(bench.folder), signal.SIGKILL)
    os.kill(int(wrapper), signal.SIGKILL)
    os.killpg(int(command), signal.SIGKILL)


async def test_of_a_log_without_end_its_begin_and_its_end_are_kept_with_the_digest_of_all(bench, monkeypatch):
    monkeypatch.setattr(builds, "MOST_LOG_BYTES", 100_000)
    bench.block("flood")
    outcome = await bench.build(bench.order())
    assert outcome.error == "" and outcome.log.whole_bytes > 4_000_000
    assert outcome.log.content.startswith(b"== fetch") and outcome.log.content.rstrip().endswith(b"== check")
    assert len(outcome.log.content) < 101_000 and b"bytes of the log are left out here" in outcome.log.content
    assert outcome.log.sha256 != outcome.log.whole_sha256


def test_the_shell_is_told_words_and_never_commands():
    order = builds.Order(Recipe("git", "x'; reboot; '", "https://e.org/$(x)", ("CFLAGS=-O2 `x`",)), 0, 60)
    text = builds.values(order)
    assert "revision='x'\"'\"'; reboot; '\"'\"''" in text and "place='https://e.org/$(x)'" in text
    assert "'CFLAGS=-O2 `x`'" in text
