"""Recipes of builds: their digests, and which options and sources are taken."""

import shlex

import pytest

from runners.builds.causes import sentence
from runners.builds.recipe import COMMIT, Recipe, options_of, source_refusals

GIT = "https://git.postgresql.org/git/postgresql.git"
COMMITTED = "4b324f6b2a6c1b2f3f1f0d0c7b7f5f2a3c9d8e7f"


def test_the_digest_is_of_the_source_and_the_options_in_any_order_and_of_nothing_else():
    recipe = Recipe("release", "17.2", "https://one.example", ("--without-icu", "CFLAGS=-O3"))
    same = Recipe("release", "17.2", "https://two.example", ("CFLAGS=-O3", "--without-icu"))
    assert recipe.digest == same.digest
    # Computed by hand: sha256sum of the canonical text.
    assert Recipe("release", "17.2", "").digest == "ec618d2d87e530e58b9e6219a9f16056e49402719ced5816b62841c23d7a1858"
    others = [
        Recipe("release", "17.3", "", recipe.options),
        Recipe("release", "17.2", "", ()),
        Recipe("git", "17.2", GIT, recipe.options),
        Recipe("git", "17.2", f"{GIT}x", recipe.options),
        Recipe("tarball", "17.2", "/a", recipe.options),
    ]
    assert len({recipe.digest, *(other.digest for other in others)}) == 6


def test_a_tarball_is_the_same_wherever_it_lies():
    assert Recipe("tarball", "a" * 64, "/a/b.tgz").digest == Recipe("tarball", "a" * 64, "/c.tgz").digest


@pytest.mark.parametrize(
    "text",
    ["", "--with-llvm --without-icu", "--with-blocksize=16 --enable-debug", "CFLAGS='-O3 -march=native -fno-plt'",
     "CPPFLAGS=-DWAL_DEBUG LDFLAGS=-flto=auto", "--disable-spinlocks COPT=-Og"],
)  # fmt: skip
def test_options_of_the_builds_that_people_compare_are_taken(text):
    options = options_of(text)
    assert options == tuple(sorted(options)) and shlex.join(options).count("-") == text.count("-")


@pytest.mark.parametrize(
    "text",
    ["--prefix=/tmp", "--bindir=/x", "--with-includes=/usr/x", "--with-libraries=x", "--with-system-tzdata=/x", "-n",
     "CC=evil", "CFLAGS='-fplugin=/tmp/x.so'", "CFLAGS=-specs=x", "CFLAGS='-O2 @file'", "CFLAGS=''", "CFLAGS=-I/x",
     "--enable-debug;reboot", "--enable-debug=$(reboot)", "'--with-x=a b'", "LDFLAGS=-Wl,-rpath,/x", "CFLAGS='-B/x'",
     "--with-llvm --without-llvm", "CFLAGS=-O2 CFLAGS=-O3", "'", "--with-CC=x", "a" * 2000, "--enable-x " * 41],
)  # fmt: skip
def test_what_writes_elsewhere_or_runs_another_program_is_refused_with_a_sentence(text):
    with pytest.raises(ValueError, match=r"\.$"):
        options_of(text)


@pytest.mark.parametrize(
    ("recipe", "fields"),
    [
        (Recipe("release", "17.2", ""), set()),
        (Recipe("release", "18beta1", ""), set()),
        (Recipe("release", "../17", ""), {"revision"}),
        (Recipe("release", "17", ""), {"revision"}),
        (Recipe("git", "REL_17_2", GIT), set()),
        (Recipe("git", COMMITTED, GIT), set()),
        (Recipe("git", "--upload-pack=x", GIT), {"revision"}),
        (Recipe("git", "a..b", "ext::sh -c x"), {"revision", "place"}),
        (Recipe("git", "REL_17_2", "https://user:secret@example.org/x"), {"place"}),
        (Recipe("git", "REL_17_2", "http://example.org/x"), {"place"}),
        (Recipe("tarball", "a" * 64, "/srv/postgresql-17.2.tar.gz"), set()),
        (Recipe("tarball", "a" * 63, "relative.tar.gz"), {"revision", "place"}),
        (Recipe("tarball", "a" * 64, "/srv/../etc/x"), {"place"}),
    ],
)
def test_a_source_that_is_none_is_refused_at_its_field(recipe, fields):
    assert set(source_refusals(recipe)) == fields


def test_sources_are_called_as_people_call_them():
    assert COMMIT.fullmatch(COMMITTED)
    assert Recipe("git", COMMITTED, GIT).source_text == "git 4b324f6b2a6c"
    assert Recipe("tarball", "a" * 64, "/srv/x.tgz").source_text == "tarball x.tgz"


def test_a_missing_library_is_told_with_what_installs_it_and_another_failure_as_it_is():
    cause_text = sentence("configure failed: readline library not found.\n")
    assert cause_text.startswith("configure failed: readline library not found. Install libreadline-dev")
    assert "--without-readline" in cause_text
    assert sentence("There is no tag zlib there.") == "There is no tag zlib there."
    assert sentence("") == "It ended without saying why: its log has all that it printed."
    assert len(sentence("configure failed: " + "x" * 10_000)) <= 1000
