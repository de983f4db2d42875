"""How many files a process may open: with few of them PostgreSQL does not start, and says so in its own words."""

from __future__ import annotations

import resource

NEEDED_FILES = 256


def open_files_text() -> str:
    """Return what is to be done where servers could open too few files; empty where they can open enough.

    What this process may allow itself it does: the servers that it starts inherit it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _is_enough(soft):
        return ""
    if _is_enough(hard):
        resource.setrlimit(resource.RLIMIT_NOFILE, (NEEDED_FILES, hard))
        return ""
    return (
        f"A process may open only {hard} files here (ulimit -n), and the servers need {NEEDED_FILES}: raise the limit "
        "where it is set (this shell, /etc/security/limits.conf, --ulimit of a container) and start again."
    )


def _is_enough(files: int) -> bool:
    return files == resource.RLIM_INFINITY or files >= NEEDED_FILES
