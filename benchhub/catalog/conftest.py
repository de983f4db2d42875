import pytest
from django.contrib.auth import get_user_model

from .models import Host

FACTS = {
    "cpu": {"model": "A CPU", "sockets": 1, "cores_per_socket": 8, "threads_per_core": 2, "max_mhz": 3400.0},
    "memory_bytes": 64 * 2**30,
    "os": {"id": "debian", "name": "Debian GNU/Linux 12"},
    "kernel": "6.1.0",
    "block_devices": [{"name": "sda", "size_bytes": 10**12, "is_rotational": False, "scheduler": "none", "model": "M"}],
    "filesystems": [{"device": "/dev/sda", "folder": "/", "type": "ext4", "options": ["rw"], "size_bytes": 10**12}],
    "tools": {"setsid": "/bin/setsid", "awk": "/bin/awk", "gzip": "/bin/gzip"},
    "time_skew_s": 0.01,
    "missing": ["clock_source", "flock"],
    "builds": [
        {
            "bin_directory": f"/opt/pg{major}/bin",
            "version": f"{major}.4",
            "version_num": major * 10000 + 4,
            "pgbench_version": f"{major}.4",
            "postgres_sha256": str(major) * 32,
            "configure": ["--with-llvm"],
        }
        for major in (16, 18)
    ]
    + [{"bin_directory": "/opt/client/bin", "version": "", "pgbench_version": "17.1", "missing": ["version"]}],
}


@pytest.fixture
def engineer(client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    return client


@pytest.fixture
def host(db):
    """Return a host that was added a moment ago: its key has not been seen yet."""
    row = Host(name="box", address="192.0.2.1", username="bench")
    row.make_key_pair()
    row.save()
    return row


@pytest.fixture
def probed(host):
    host.host_key, host.trust = "ssh-ed25519 AAAA", Host.Trust.PINNED
    host.facts, host.facts_at = FACTS, "2026-01-02T03:04:05Z"
    host.save()
    return host
