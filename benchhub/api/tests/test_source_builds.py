"""PostgreSQL built on hosts by the API: asked for by whoever has a permit, other sources by administrators alone."""

import pytest

from benchhub.accounts import tokens
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.conftest import program
from benchhub.bench import testing
from benchhub.catalog.models import SourceBuild, SourceBuildLog

pytestmark = pytest.mark.django_db


@pytest.fixture
def box():
    return testing.probed_host("18.4")


@pytest.fixture
def runner(box):
    return program(make_user("rosa", Role.RUNNER, box), *tokens.SCOPES)


@pytest.fixture
def sent(box):
    return {"host": box.pk, "release": "17.2", "configure_options": "--without-icu"}


def test_a_release_is_asked_for_once_and_its_log_is_fetched(runner, sent):
    answer = runner.send("post", "source-builds/", sent)
    assert answer.status_code == 202, answer.content
    body = answer.json()
    assert (body["state"], body["options"], body["number"]) == ("waiting", ["--without-icu"], 1)
    assert runner.send("post", "source-builds/", sent).json()["id"] == body["id"]
    build = SourceBuild.objects.get()
    assert build.key not in answer.content.decode()
    sums = {"sha256": "a" * 64, "whole_sha256": "a" * 64, "size_bytes": 4, "whole_bytes": 4}
    SourceBuildLog.objects.create(build=build, number=1, content=b"make", **sums)
    assert runner.send("get", f"source-builds/{build.pk}/").json()["logs"][0]["sha256"] == "a" * 64
    assert runner.send("get", f"source-builds/{build.pk}/log/1/").content == b"make"
    assert runner.send("get", f"source-builds/{build.pk}/log/2/").status_code == 404


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"host": 0}, "/host"),
        ({"host": 999}, "/host"),
        ({"release": "x"}, "/release"),
        ({"configure_options": "--prefix=/"}, "/configure_options"),
        ({"release": ""}, "Give one source"),
        ({"jobs": -1}, "/jobs"),
        ({"digest": "0"}, "/digest"),
    ],
)
def test_what_cannot_be_built_is_refused_with_its_field(runner, sent, changes, pointer):
    answer = runner.send("post", "source-builds/", {**sent, **changes})
    assert answer.status_code == 422
    assert pointer in answer.content.decode()
    assert not SourceBuild.objects.exists()


def test_only_an_administrator_has_other_sources_built_and_nobody_without_a_permit_any(runner, sent, box):
    tarball = {"host": box.pk, "tarball": "/srv/a.tar.gz", "sha256": "a" * 64}
    for values in (tarball, {"host": box.pk, "git_revision": "v1", "git_url": "https://example.org/a.git"}):
        answer = runner.send("post", "source-builds/", values)
        assert answer.status_code == 403 and "Only an administrator" in answer.content.decode()
    stranger = program(make_user("otto", Role.RUNNER), *tokens.SCOPES)
    assert stranger.send("post", "source-builds/", sent).status_code == 403
    assert not SourceBuild.objects.exists()
    administrator = program(make_user("ada", Role.ADMINISTRATOR), *tokens.SCOPES)
    assert administrator.send("post", "source-builds/", tarball).status_code == 202
    pk = SourceBuild.objects.get().pk
    for act in ("again", "cancel", "remove"):
        assert stranger.send("post", f"source-builds/{pk}/{act}/", {}).status_code == 403


def test_it_is_cancelled_built_again_and_removed_each_at_its_time(runner, sent, box):
    pk = runner.send("post", "source-builds/", sent).json()["id"]
    assert runner.send("post", f"source-builds/{pk}/again/", {}).status_code == 409
    assert runner.send("post", f"source-builds/{pk}/cancel/", {}).json()["state"] == "cancelled"
    assert runner.send("post", f"source-builds/{pk}/again/", {}).json()["number"] == 2
    assert runner.send("post", f"source-builds/{pk}/remove/", {}).status_code == 409
    SourceBuild.objects.update(state="built", facts={"bin_directory": "/data/builds/1/bin"})
    instance = testing.make_instance(box, "18.4", bin_directory="/data/builds/1/bin")
    answer = runner.send("post", f"source-builds/{pk}/remove/", {})
    assert answer.status_code == 409 and str(instance) in answer.content.decode()
    instance.delete()
    assert runner.send("post", f"source-builds/{pk}/remove/", {}).json()["state"] == "removing"
