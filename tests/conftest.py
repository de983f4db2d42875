"""Fixtures that several of these tests share: a supervisor whose children they kill and count, and rows for pages."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchhub.bench.conftest import host, machine, planner, system, worker  # noqa: F401  # fixtures
from benchhub.embedded import proc
from benchhub.embedded.processes import MARKER, Processes
from tests.everything import everything


@pytest.fixture
def own_processes(server_folder: Path) -> Iterator[Processes]:
    """A supervisor for one test, whose children are all gone afterwards."""
    folder = server_folder / secrets.token_hex(4)
    supervisor = Processes(folder, marker=folder.name)
    yield supervisor
    supervisor.stop_all()
    proc.kill_marked(MARKER, f"{supervisor.marker}-target")
    assert proc.marked(MARKER, supervisor.marker, supervisor.logs) == []


@pytest.fixture
def rows() -> dict[str, Any]:
    return everything()
