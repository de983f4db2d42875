"""How an attempt changes settings of the operating system for its time, and what is installed on a target for that."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from runners.contract import PREPARATION_FAILED, RunSpec

from .names import DEVICE, SETTINGS, OsSetting

FILE = "os_settings.sh"
HELPER = "/usr/local/sbin/benchhub-os-settings"
DOWNLOADED = Path(HELPER).name
COMMAND = f"sudo -n {HELPER}"
STATE_FOLDER = "/run/benchhub-os-settings"
VERSION = 2
ACCOUNT = re.compile("[a-z_][a-z0-9_.-]{0,63}")
SCRIPTS = Path(__file__).parent.parent / "target"
# What comes after the deadline of a run: its server is stopped, and what it left is listed.
LONGER_S, WITHOUT_DEADLINE_S = 1800, 86_400
NOT_APPLIED = "The settings of the operating system were not applied."
BEGIN = f"""\
step os_settings
os_begin || fail {PREPARATION_FAILED} '{NOT_APPLIED}'
"""


# After what was killed: its server has been stopped, and nobody waits for the helper any more.
RESTORE_LEFTOVER = f"""\
[ ! -e {FILE} ] || {{ . ./{FILE}; os_restore; }}
"""


def sudo_rule(username: str) -> str:
    """Return the line for /etc/sudoers.d that lets the account use the helper, and nothing else.

    What sudo would read as a group, an alias or several accounts is not written there: ACCOUNT stands in its place.
    """
    return f"{username if ACCOUNT.fullmatch(username) else 'ACCOUNT'} ALL=(root) NOPASSWD: {HELPER}"


def helper_text(*, root: str = "", folder: str = STATE_FOLDER) -> str:
    """Return the helper as root installs it. `root` stands before the kernel's files, and `folder` keeps its state."""
    rows = "\n".join(_row(setting, root) for setting in SETTINGS.values())
    values = f"version={VERSION}\nroot={shlex.quote(root)}\nfolder={shlex.quote(folder)}\nsettings='{rows}'\n"
    return f"#!/bin/sh\n{values}\n{_text('os_helper.sh')}"


def _row(setting: OsSetting, root: str) -> str:
    files = ",".join(file if file.startswith(DEVICE) else f"{root}{file}" for file in setting.files)
    return f"{setting.name} {files} {setting.range_text} {f'{root}{setting.twin_file}' if setting.twin else '-'}"


def files(spec: RunSpec) -> dict[str, str]:
    """Return the files that an attempt needs beside command.sh; none where no setting is to be changed."""
    if spec.cluster is None or not spec.cluster.os_settings:
        return {}
    seconds = spec.deadline_s + LONGER_S if spec.deadline_s else spec.expected_s + WITHOUT_DEADLINE_S
    words = shlex.join(f"{name}={value}" for name, value in spec.cluster.os_settings.items())
    values = [
        f"os_helper={shlex.quote(COMMAND)}",
        f"os_version={VERSION}",
        f"os_state={shlex.quote(STATE_FOLDER)}",
        f"os_seconds={seconds}",
        f"os_values() {{ printf '%s ' {words}; }}",
    ]
    return {FILE: "\n".join([*values, _text("os_settings.sh")])}


def put_back_function() -> str:
    """Return sh text of os_put_back: it puts back what an earlier attempt left, and fails with what the helper says."""
    return f"""\
os_put_back() {{
    [ -e {shlex.quote(f"{STATE_FOLDER}/before")} ] || return 0
    reason=$({COMMAND} restore {VERSION} 2>&1) && return 0
    reason=$(echo "$reason" | tail -n 1 | head -c 300)
    echo "Settings of the operating system that an earlier run changed could not be put back: $reason" >&2
    return 1
}}"""


def _text(name: str) -> str:
    return (SCRIPTS / name).read_text()
