"""A source tree that builds in an instant: programs of shell that answer as PostgreSQL's do."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

CONFIGURE = r"""#!/bin/sh
# It says what it was given, and stops where readline is missing as the true one does.
for word; do
    case $word in --prefix=*) prefix=${word#--prefix=} ;; --without-readline) readline=no ;; esac
done
if [ -e BLOCKER-readline ] && [ "${readline-}" != no ]; then
    echo 'configure: error: readline library not found'
    exit 1
fi
echo "checking for options... $*"
printf 'prefix = %s\nwords = %s\n' "$prefix" "$*" > config.mk
"""
MAKEFILE = r"""include config.mk
bin = $(DESTDIR)$(prefix)/bin
all:
	@echo "building $(words)"
	@echo begun >> BLOCKER-begun
	@while [ -e BLOCKER-wait ]; do sleep 0.1; done
	@if [ -e BLOCKER-flood ]; then seq 1 700000; fi
	@if [ -e BLOCKER-error ]; then echo 'main.c:1: error: no such thing' >&2; exit 1; fi
install:
	mkdir -p $(bin)
	for name in postgres initdb pg_ctl psql pgbench; do \
	printf '#!/bin/sh\necho "%s (PostgreSQL) VERSION"\n' $$name > $(bin)/$$name; done
	printf '#!/bin/sh\ncase $$1 in --version) echo "PostgreSQL CONFIG";; --configure) echo "%s";; *) echo cc;; esac\n' \
	"$(words)" > $(bin)/pg_config
	chmod 755 $(bin)/*
""".replace("\\t", "\t")


def make_source(folder: Path, blocker: Path, *, version: str = "17.2", config_version: str = "") -> Path:
    """Write the tree. While files named like `blocker` are there it waits (-wait), fails or prints without end.

    It appends a line to the file `blocker`-begun each time that it is built.
    """
    (folder / "src/backend/parser").mkdir(parents=True)
    (folder / "src/backend/parser/gram.c").write_text("")
    configure = folder / "configure"
    configure.write_text(CONFIGURE.replace("BLOCKER", str(blocker)))
    configure.chmod(0o755)
    makefile = MAKEFILE.replace("BLOCKER", str(blocker)).replace("VERSION", version)
    makefile = makefile.replace("CONFIG", config_version or version)
    (folder / "Makefile").write_text(makefile)
    return folder


def make_tarball(source: Path, tarball: Path) -> str:
    """Pack the tree as a release is packed; return the SHA-256."""
    subprocess.run(["tar", "-C", source.parent, "-czf", tarball, source.name], check=True)
    tarball.chmod(0o644)
    return hashlib.sha256(tarball.read_bytes()).hexdigest()


def make_repository(source: Path) -> str:
    """Make the tree a git repository with the tag REL_17_2; return its commit."""
    git = ["git", "-C", str(source), "-c", "user.name=tests", "-c", "user.email=tests@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"], ["tag", "REL_17_2"]):
        subprocess.run([*git, *words], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
