"""A PostgreSQL as it is to be built: where its source comes from, its configure options, and the digest of both."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["release", "git", "tarball"]

RELEASES = "https://ftp.postgresql.org/pub/source"
REPOSITORY = "https://git.postgresql.org/git/postgresql.git"
MOST_OPTIONS, LONGEST_OPTIONS = 40, 1000
VERSION = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,2}){1,2}|[0-9]{2}(?:beta|rc)[0-9]")
TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
COMMIT = re.compile(r"[0-9a-f]{40}")
SHA256 = re.compile(r"[0-9a-f]{64}")
URL = re.compile(r"https://[A-Za-z0-9.-]{1,200}(?::[0-9]{1,5})?/[A-Za-z0-9._/~+-]{1,300}")
PATH = re.compile(r"/[A-Za-z0-9._/+-]{1,300}")
# No value has a slash: what is built reads and writes nowhere but where BenchHub says.
FEATURE = re.compile(r"--(?:with|without|enable|disable)-([a-z][a-z0-9-]{0,40})(?:=[A-Za-z0-9._+-]{1,40})?")
FLAGS = re.compile(r"(CFLAGS|CPPFLAGS|LDFLAGS|COPT)=(.{0,300})")
FLAG = re.compile(
    r"-O[0-3sg]|-Ofast|-g[0-3]?|-f[a-z][a-z-]{0,60}(?:=(?:auto|[0-9]{1,4}))?"
    r"|-m(?:arch|tune|cpu)=[A-Za-z0-9.+_-]{1,60}|-m[a-z0-9.-]{1,40}|-D[A-Z][A-Z0-9_]{0,60}(?:=[0-9]{1,10})?"
)
PLACES = {"includes", "libraries", "libs", "template", "system-tzdata", "llvm-config", "krb-srvnam"}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is to be built. `revision` is the version of a release, the tag or commit of git, a tarball's SHA-256.

    `place` is the URL of the releases or the repository, or the path of the tarball on the target.
    """

    kind: Kind
    revision: str
    place: str
    options: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Return the SHA-256 over source and options. Where releases and tarballs lie is no part of what they are."""
        source = {"kind": self.kind, "revision": self.revision, **({"url": self.place} if self.kind == "git" else {})}
        if self.kind == "tarball":
            source = {"kind": "tarball", "sha256": self.revision}
        plain = {"version": 1, "source": source, "options": sorted(self.options)}
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def is_of_tag(self) -> bool:
        """Tell whether the source is a tag of git, which may be moved to another commit."""
        return self.kind == "git" and not COMMIT.fullmatch(self.revision)

    @property
    def source_text(self) -> str:
        """Name the source as people do."""
        if self.kind == "release":
            return f"release {self.revision}"
        if self.kind == "git":
            return f"git {self.revision[:12] if COMMIT.fullmatch(self.revision) else self.revision}"
        return f"tarball {self.place.rpartition('/')[2]}"


def options_of(text: str) -> tuple[str, ...]:
    """Return the options that a person typed, sorted. Raises ValueError, with a sentence, for what is not allowed."""
    if len(text) > LONGEST_OPTIONS:
        raise ValueError(f"Write at most {LONGEST_OPTIONS} characters.")
    try:
        words = shlex.split(text)
    except ValueError:
        raise ValueError("A quotation mark is never closed: close it.") from None
    if len(words) > MOST_OPTIONS:
        raise ValueError(f"Give at most {MOST_OPTIONS} options.")
    for word in words:
        _check(word)
    _check_once(words)
    return tuple(sorted(words))


def source_refusals(recipe: Recipe) -> Mapping[str, str]:
    """Return, by field, a sentence for what the source cannot be; empty where all can be."""
    revision, place = {
        "release": (VERSION, None),
        "git": (TAG, URL),
        "tarball": (SHA256, PATH),
    }[recipe.kind]
    refusals = {}
    if not revision.fullmatch(recipe.revision) or ".." in recipe.revision:
        refusals["revision"] = REVISIONS[recipe.kind]
    if place and (not place.fullmatch(recipe.place) or "/../" in f"{recipe.place}/"):
        refusals["place"] = PLACE_TEXTS[recipe.kind]
    return refusals


REVISIONS: Mapping[Kind, str] = {
    "release": "Write a version as PostgreSQL names it, for example 17.2.",
    "git": "Write a tag, for example REL_17_2, or all 40 digits of a commit.",
    "tarball": "Write the 64 digits that sha256sum prints for it.",
}
PLACE_TEXTS: Mapping[Kind, str] = {
    "release": "",
    "git": "Write a URL that begins with https:// and has neither blanks nor a password.",
    "tarball": "Write the whole path on the host, of letters, digits, dots, hyphens and underscores.",
}


def _check(word: str) -> None:
    if flags := FLAGS.fullmatch(word):
        wrong = next((flag for flag in flags[2].split() if not FLAG.fullmatch(flag)), "")
        if wrong or not flags[2].strip():
            raise ValueError(f"{flags[1]} takes flags like -O3 -march=native, and not {wrong[:60] or 'nothing'}.")
        return
    feature = FEATURE.fullmatch(word)
    if not feature or feature[1] in PLACES:
        raise ValueError(
            f"{word[:60]} is not allowed: give options like --with-llvm, --without-icu, --enable-debug, "
            "--with-blocksize=16 or CFLAGS='-O3'. Folders are BenchHub's own."
        )


def _check_once(words: Iterable[str]) -> None:
    """Refuse a feature that is given twice: which of the two counts would depend on their order."""
    names = set()
    for word in words:
        feature = FEATURE.fullmatch(word)
        name = feature[1] if feature else word.partition("=")[0]
        if name in names:
            raise ValueError(f"{name} is given twice: leave one out.")
        names.add(name)
