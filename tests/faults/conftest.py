"""The rig of the fault tests, anew for each test; its servers serve the whole session."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

from benchhub.bench.models import Result, Run, System
from benchhub.embedded import ports
from benchhub.embedded.account import Account
from benchhub.embedded.broker import Broker
from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import Processes
from tests.faults import rig as rigs
from tests.faults import rows
from tests.faults.rig import Rig, Site
from tests.servers import new_cluster

LEASE_S = 6.0
QUICK = ("test_secrets.py",)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Run only the quick ones, unless somebody asks for this folder: all of them take minutes (`make faults`)."""
    is_asked_for = any("faults" in str(word) for word in config.invocation_params.args)
    is_slow = collection_path.name.startswith("test_") and collection_path.name not in QUICK
    return True if is_slow and not is_asked_for else None


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Cluster:
    """The PostgreSQL to be measured, loaded; tests may crash it, and start it again."""
    cluster = new_cluster("faults-server", 16, request)
    rigs.load_data_set(cluster)
    return cluster


@pytest.fixture
def broker(processes: Processes, server_folder: Path, account: Account) -> Iterator[Broker]:
    made = Broker(server_folder / "faults-broker", ports.free_port(), secrets.token_urlsafe(), account, "faults-broker")
    made.start(processes)
    yield made
    processes.stop_named(made.name)


@pytest.fixture
def rig(
    transactional_db: None,
    processes: Processes,
    account: Account,
    server_folder: Path,
    server: Cluster,
    broker: Broker,
) -> Iterator[Rig]:
    folder = server_folder / f"rig-{secrets.token_hex(4)}"
    account.make_folder(folder)
    made = Rig(processes, account, folder, server, broker, _environment(broker), LEASE_S)
    yield made
    made.close()
    rigs.remove(folder)


@pytest.fixture
def site(rig: Rig) -> Site:
    return rig.site("alpha")


@pytest.fixture
def system(site: Site, server: Cluster) -> System:
    return rows.enrol(site, server)


@pytest.fixture
def ends_once(site: Site) -> Callable[..., list[Run]]:
    """Wait for runs, and see that each ended as expected, was executed once on the host, and has its evidence."""

    def check(runs: list[Run], state: str = "succeeded", attempts: int = 1) -> list[Run]:
        ended = rows.until_final(runs)
        assert [run.state for run in ended] == [state] * len(runs), [(run.state, run.reason) for run in ended]
        assert [site.executions(run) for run in ended] == [1] * len(runs), site.count()
        assert sum(site.count().values()) == len(runs)
        assert [run.attempts.count() for run in ended] == [attempts] * len(runs)
        assert [run.attempts.filter(ended_at=None).count() for run in ended] == [0] * len(runs)
        finals = [run.events.filter(new_state=run.state).count() for run in ended]
        assert finals == [1] * len(runs)
        with_result = Result.objects.filter(run__in=ended).count()
        assert with_result == (len(runs) if state == "succeeded" else 0)
        if state in ("succeeded", "failed"):
            assert all(run.attempts.get().evidence.filter(name="out.log").exists() for run in ended)
        return ended

    return check


def _environment(broker: Broker) -> dict[str, str]:
    """The workers use the database that pytest-django made, with the keys of this process."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {
        **inherited,
        "DATABASE_URL": rows.warehouse_url(),
        "BROKER_URL": broker.url,
        "SECRET_KEY": settings.SECRET_KEY,
        "FIELD_KEYS": ",".join(settings.FIELD_KEYS),
        "LEASE_SECONDS": str(LEASE_S),
        "PYTHONUNBUFFERED": "1",
    }
