"""What a command in a clone is about where nobody says: the demonstration that runs there."""

from __future__ import annotations

import json
import os
from pathlib import Path

ENVIRONMENT_FILE = Path(__file__).resolve().parent.parent / "var" / "run" / "environment.json"
DECIDED_BY = ("DATABASE_URL", "SECRET_KEY")


def use_demonstration(file: Path = ENVIRONMENT_FILE) -> str:
    """Take over the environment of this clone's demonstration unless the shell has one of its own; say so.

    Returns the sentence for a person; empty where nothing was taken over. The file is there while the demonstration
    runs, for who started it only.
    """
    if any(name in os.environ for name in DECIDED_BY):
        return ""
    try:
        environment = json.loads(file.read_text())
    except OSError:
        return ""
    os.environ.update(environment)
    return "This is about the demonstration that runs in this clone; DATABASE_URL would choose another warehouse."
