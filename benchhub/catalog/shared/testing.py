"""Steps of a person who puts a key on a host."""

from __future__ import annotations

import shlex


def install(line, target):
    """Do what the line does, at the target whose daemon reads its keys elsewhere than in ~/.ssh."""
    words = shlex.split(line)
    with (target.work_directory.parent / "authorized_keys").open("a") as keys:
        keys.write(words[words.index("echo") + 1] + "\n")


def copy_install_line(tab):
    tab.get_by_role("button", name="Copy the line").first.click()
    tab.get_by_role("button", name="Copied").wait_for()
    return tab.evaluate("navigator.clipboard.readText()")
