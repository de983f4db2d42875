"""Why a build failed, as one sentence that says what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 1000
OVERDUE = "It took longer than its deadline of {} minutes and was ended: its log says how far it came."
OVERFLOW = "It printed so much that the disk would have been filled, and was ended: its log says what."


@dataclass(frozen=True, slots=True)
class Cause:
    """What configure or make says of a library that is missing, and what installs it or does without it."""

    sign: re.Pattern[str]
    remedy: str


def _library(sign: str, debian: str, redhat: str, without: str = "") -> Cause:
    instead = f", or build {without}" if without else ""
    return Cause(re.compile(sign), f"Install {debian} (Debian, Ubuntu) or {redhat} (RHEL) there{instead}.")


CAUSES = (
    _library("readline library not found", "libreadline-dev", "readline-devel", "--without-readline"),
    _library("zlib library not found|zlib.h", "zlib1g-dev", "zlib-devel", "--without-zlib"),
    _library("ICU library not found|icu-uc", "libicu-dev and pkg-config", "libicu-devel", "--without-icu"),
    _library("libcrypto|libssl|openssl/ssl.h|OpenSSL", "libssl-dev", "openssl-devel", "without OpenSSL"),
    _library("liblz4|lz4", "liblz4-dev", "lz4-devel", "without lz4"),
    _library("libzstd|zstd", "libzstd-dev", "libzstd-devel", "without zstd"),
    _library("libxml", "libxml2-dev", "libxml2-devel", "without libxml"),
    _library("llvm-config|LLVM|clang", "llvm-dev and clang", "llvm-devel and clang", "without LLVM"),
    _library("uuid", "uuid-dev", "libuuid-devel", "without a UUID library"),
    _library("systemd", "libsystemd-dev", "systemd-devel", "without systemd"),
    _library("C compiler cannot create executables|no acceptable C compiler", "gcc and libc6-dev", "gcc"),
    Cause(re.compile("[Pp]erl"), "Install perl (perl-devel for --with-perl) there."),
    Cause(re.compile("[Pp]ython"), "Install python3-dev (Debian, Ubuntu) or python3-devel (RHEL) there."),
    Cause(re.compile("No space left on device"), "Free room in the work directory: a build takes up to 1 GB."),
)


def sentence(errors: str) -> str:
    """Return what the script said of its failure, with what to do where that is known."""
    text = errors.replace("\0", "").strip()[-LONGEST:]
    if not text:
        return "It ended without saying why: its log has all that it printed."
    remedy = next((cause.remedy for cause in CAUSES if cause.sign.search(text)), "")
    return f"{text} {remedy}" if remedy and text.startswith(("configure ", "make ")) else text
