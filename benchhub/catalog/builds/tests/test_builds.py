"""Pages of builds of PostgreSQL: asked for, watched, cancelled and removed; nothing is sent."""

import hashlib

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing as bench
from benchhub.catalog.builds.form import ONE_SOURCE
from benchhub.catalog.models import Host, SourceBuild, SourceBuildLog
from benchhub.catalog.models.source_builds import GIVEN_UP
from runners.builds.recipe import RELEASES, REPOSITORY

pytestmark = pytest.mark.django_db
PAGE_QUERIES = 5  # session, user, build, users of it, logs
SHA256 = "a" * 64
TYPED = {"release": "17.2", "configure_options": "--without-icu CFLAGS='-O3 -g'"}


@pytest.fixture
def add(probed):
    return reverse("source-build-add-any", args=[probed.pk])


@pytest.fixture
def built(engineer, add):
    engineer.post(add, TYPED)
    facts = {"bin_directory": "/data/builds/1/bin", "version": "17.2", "version_num": 170002}
    SourceBuild.objects.update(state="built", facts=facts, log_tail="== make <b>")
    return SourceBuild.objects.get()


def test_a_release_is_asked_for_with_its_options_and_waits(engineer, add, probed):
    answer = engineer.post(add, TYPED)
    build = SourceBuild.objects.get()
    assertRedirects(answer, reverse("source-build", args=[build.pk]))
    assert (build.state, build.kind, build.revision, build.place) == ("waiting", "release", "17.2", RELEASES)
    assert build.options == ["--without-icu", "CFLAGS=-O3 -g"]
    assert build.digest == build.recipe.digest
    assertContains(engineer.get(reverse("source-build", args=[build.pk])), "It waits for its turn.")
    assertContains(engineer.get(reverse("host", args=[probed.pk])), "release 17.2")


@pytest.mark.parametrize(
    ("typed", "source"),
    [
        ({"git_revision": "REL_17_2"}, ("git", "REL_17_2", REPOSITORY)),
        (
            {"git_revision": "b" * 40, "git_url": "https://example.org/a.git"},
            ("git", "b" * 40, "https://example.org/a.git"),
        ),
        ({"tarball": "/srv/a.tar.gz", "sha256": SHA256.upper()}, ("tarball", SHA256, "/srv/a.tar.gz")),
    ],
)
def test_git_and_a_tarball_on_the_host_are_other_sources(engineer, add, typed, source):
    answer = engineer.post(add, typed)
    assert answer.status_code == 302
    build = SourceBuild.objects.get()
    assert (build.kind, build.revision, build.place) == source


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"jobs": "2"}, ONE_SOURCE),
        ({"release": "17.2", "git_revision": "REL_17_2"}, ONE_SOURCE),
        ({"release": "17.2", "git_url": "https://example.org/a.git"}, ONE_SOURCE),
        ({"release": "17"}, "Write a version as PostgreSQL names it"),
        ({"git_revision": "--upload-pack=x"}, "Write a tag, for example REL_17_2"),
        ({"git_revision": "REL_17_2", "git_url": "http://example.org/a.git"}, "Write a URL that begins with https://"),
        ({"tarball": "/srv/a.tar.gz"}, "Write the 64 digits"),
        ({"tarball": "srv/a.tar.gz", "sha256": SHA256}, "Write the whole path on the host"),
        ({"release": "17.2", "configure_options": "--prefix=/usr"}, "--prefix=/usr is not allowed"),
        ({"release": "17.2", "jobs": "-1"}, "Ensure this value is greater than or equal to 0."),
        ({"release": "17.2\n18"}, "Write it on one line"),
    ],
)
def test_what_cannot_be_built_is_refused_with_what_to_write(engineer, add, typed, sentence):
    assertContains(engineer.post(add, typed), sentence)
    assert not SourceBuild.objects.exists()


def test_the_same_source_and_options_are_one_build(engineer, add, built):
    answer = engineer.post(add, {"release": "17.2", "configure_options": "CFLAGS='-O3 -g' --without-icu"}, follow=True)
    assertContains(answer, "built there already, or is under way")
    assert SourceBuild.objects.get().state == "built"
    SourceBuild.objects.update(state="removed")
    engineer.post(add, TYPED)
    assert (SourceBuild.objects.get().state, SourceBuild.objects.get().number) == ("waiting", 2)


def test_a_runner_with_a_permit_builds_postgresqls_own_sources_alone(client, probed):
    client.force_login(make_user("rosa", Role.RUNNER, probed))
    add = reverse("source-build-add", args=[probed.pk])
    assertNotContains(client.get(add), "tarball")
    client.post(add, {"release": "17.2", "git_url": "https://example.org/a.git", "tarball": "/srv/a.tar.gz"})
    assert SourceBuild.objects.get().place == RELEASES
    assert client.get(reverse("source-build-add-any", args=[probed.pk])).status_code == 403


def test_without_a_permit_nothing_is_built_cancelled_or_removed(client, probed, built):
    client.force_login(make_user("rosa", Role.RUNNER, bench.make_host("other", "192.0.2.9")))
    assert client.post(reverse("source-build-add", args=[probed.pk]), TYPED).status_code == 403
    for name in ("source-build-ask", "source-build-remove"):
        assert client.post(reverse(name, args=[built.pk]), {"purpose": "cancel"}).status_code == 403
    assert client.post(reverse("source-build-ask", args=[built.pk + 1])).status_code == 403
    page = client.get(reverse("source-build", args=[built.pk]))
    assertNotContains(page, "Remove")
    assertContains(page, "== make &lt;b&gt;")


def test_it_is_cancelled_and_built_again(engineer, add):
    engineer.post(add, TYPED)
    build = SourceBuild.objects.get()
    ask = reverse("source-build-ask", args=[build.pk])
    assertContains(engineer.post(ask, {"purpose": "build"}, follow=True), "Nothing was done")
    assertContains(engineer.post(ask, {"purpose": "cancel"}, follow=True), "Cancelled before it began.")
    assertContains(engineer.post(ask, {"purpose": "build"}, follow=True), "It waits for its turn.")
    SourceBuild.objects.update(state="building", step="make")
    assertContains(engineer.get(reverse("source-build", args=[build.pk])), "It compiles; nothing is measured")
    assertContains(engineer.post(ask, {"purpose": "cancel"}, follow=True), "is being ended")
    assert SourceBuild.objects.get().is_cancel_asked


def test_while_it_is_built_the_newest_lines_of_its_log_are_in_sight(engineer, built):
    page, log = reverse("source-build", args=[built.pk]), "\n".join(f"line {number};" for number in range(40))
    SourceBuild.objects.update(state="building", log_tail=log)
    assertContains(engineer.get(page), "line 39;")
    assertNotContains(engineer.get(page), "line 24;")
    SourceBuild.objects.update(state="failed")
    assertContains(engineer.get(page), "line 0;")


def test_it_is_removed_after_a_question_unless_an_instance_uses_it(engineer, built, probed):
    remove = reverse("source-build-remove", args=[built.pk])
    assertContains(engineer.get(remove), "/data/builds/1/bin")
    instance = bench.make_instance(probed, "18.4", bin_directory="/data/builds/1/bin")
    assertContains(engineer.post(remove, follow=True), f"It is not removed: {instance} uses its programs.")
    assertContains(engineer.get(reverse("source-build", args=[built.pk])), f"Used by {instance}")
    assert SourceBuild.objects.get().state == "built"
    instance.delete()
    assertContains(engineer.post(remove, follow=True), "is being removed")


def test_a_host_does_not_move_under_a_build(engineer, built, probed):
    edit = reverse("host-edit", args=[probed.pk])
    fields = {name: getattr(probed, name) for name in ("name", "address", "port", "username")}
    SourceBuild.objects.update(state="building")
    assertContains(engineer.post(edit, {**fields, "work_directory": "other"}), "A build there would not be found any")
    SourceBuild.objects.update(state="built")
    engineer.post(edit, {**fields, "work_directory": "other"})
    assert Host.objects.get(pk=probed.pk).work_directory == "other"


def test_the_log_is_a_download_of_plain_text_whatever_it_holds(engineer, built):
    content = b"<script>\xff\0"
    digest = hashlib.sha256(content).hexdigest()
    sizes = {"size_bytes": len(content), "whole_bytes": 10**9}
    SourceBuildLog.objects.create(build=built, number=1, content=content, sha256=digest, whole_sha256=SHA256, **sizes)
    answer = engineer.get(reverse("source-build-log", args=[built.pk, 1]))
    assert answer.content == content and answer["Content-Type"].startswith("text/plain")
    assert answer["Content-Disposition"].startswith("attachment") and answer["X-Content-Type-Options"] == "nosniff"
    assert engineer.get(reverse("source-build-log", args=[built.pk, 2])).status_code == 404
    assertContains(engineer.get(reverse("source-build", args=[built.pk])), "stored without its middle")


def test_a_page_is_read_with_few_queries(engineer, built, django_assert_num_queries):
    with django_assert_num_queries(PAGE_QUERIES):
        engineer.get(reverse("source-build", args=[built.pk]))


def test_postgresql_is_not_built_as_root(engineer, add):
    Host.objects.update(username="root")
    assertContains(engineer.post(add, TYPED), "PostgreSQL does not run as root")


def test_a_build_that_could_not_be_ended_may_be_given_up(engineer, add):
    engineer.post(add, TYPED)
    SourceBuild.objects.update(state="building", is_cancel_asked=True)
    page = reverse("source-build", args=[SourceBuild.objects.get().pk])
    assertNotContains(engineer.get(page), "Give it up")
    SourceBuild.objects.update(contact_error="No route to host.")
    assertContains(engineer.get(page), "Give it up")
    engineer.post(reverse("source-build-ask", args=[SourceBuild.objects.get().pk]), {"purpose": "cancel"})
    build = SourceBuild.objects.get()
    assert (build.state, build.is_tidy, build.error) == ("cancelled", False, GIVEN_UP)


def test_a_host_goes_with_builds_of_which_nothing_is_there_and_stays_while_any_is(engineer, built, probed):
    address = reverse("host-delete", args=[probed.pk])
    engineer.post(address)
    assert Host.objects.filter(pk=probed.pk).exists()
    SourceBuild.objects.update(state="failed")
    engineer.post(address)
    assert not Host.objects.filter(pk=probed.pk).exists() and not SourceBuild.objects.exists()
