"""An example for each request and for the main answers, by the name of its component in the description.

They tell one story: two PostgreSQL versions on one host, measured, compared and shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BASE = "https://bench.example.org/api/v1/"
AT = "2026-01-31T02:00:00Z"
LATER = "2026-01-31T03:10:00Z"
QUERY = "curve=12-7&curve=12-8&baseline=12-7&term=3"
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
TOKEN = "Zk3tq0mYyV1cQn9b8JxT2LrWfA7sHdEuPgKoR4iNvXw"
PRICED = {"currency": "EUR", "priced_on": "2026-01-15", "source": "Quote 4711 of Example Ltd, page 2"}

REQUESTS: Mapping[str, Any] = {
    "HostRequest": {"name": "db1", "address": "db1.example.org", "port": 22, "username": "postgres"},
    "HostKey": {"key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExampleExa"},
    "InstanceRequest": {
        "name": "db1, 18", "server": "3", "configuration": 2, "address": "127.0.0.1", "port": 5432,
        "database": "benchmark", "username": "benchmark",
    },
    "ClusterRequest": {"host": 3, "name": "tuned", "build": "/usr/lib/postgresql/18/bin", "configuration": 2},
    "ClusterAskRequest": {"purpose": "look"},
    "SourceBuildRequest": {"host": 3, "release": "17.2", "configure_options": "--without-icu CFLAGS='-O3'"},
    "InspectionRequest": {"instance": 1, "driver": 1},
    "HardwareRequest": {"name": "Two sockets", "sockets": 2, "cores_per_socket": 16, "memory_gib": "256"},
    "ConfigurationRequest": {"name": "tuned", "settings": {"shared_buffers": "64GB", "max_wal_size": "50GB"}},
    "WorkloadRequest": {"kind": "pgbench", "name": "select-only", "script": "select-only", "scale": 100},
    "LicenceModelRequest": {
        "name": "Per core", "metric": "core", "payment": "subscription", "minimum_per_server": "4",
        "factors": [{"processor": "POWER8", "factor": "0.5"}],
    },
    "PriceTakeBack": {"scope": "import"},
    "PriceRequest": {"of": "hardware:5", "description": "Two sockets, 256 GB", "amount": "12500.00", **PRICED},
    "PriceSheetRequest": {
        "name": "Offer for db1", "hardware": 5, **PRICED,
        "lines": [{"description": "Server", "quantity": "1", "unit_price": "12500.00"}],
        "discounts": [{"description": "Framework contract", "percent": "10"}],
    },
    "RateRequest": {
        "base": "USD", "quoted": "EUR", "value": "0.92", "priced_on": "2026-01-15", "source": "Reference rates",
    },
    "ExperimentRequest": {
        "name": "18 against 16", "workload": 1, "systems": [{"instance": 7}, {"instance": 8}], "levels": "1, 8, 64",
        "repeats": 3, "duration_s": 60, "warmup_s": 10,
    },
    "TuningSeriesRequest": {
        "name": "Night", "instance": 7, "workload": 1, "kind": "cumulative", "levels": "32", "repeats": 5,
        "steps": [{"name": "memory", "settings": {"shared_buffers": "16GB"}}],
    },
    "PatchedPolicyRequest": {"priority": 5, "failure_policy": "continue"},
    "RepeatsRequest": {"levels": "8, 64", "repeats": 2},
    "MoveRequest": {"direction": "up"},
    "TagsRequest": {"tags": ["nightly", "db1"]},
    "AsideRequest": {"reason": "A backup ran on the host meanwhile."},
    "ReservationRequest": {
        "host": 3, "start": "2026-12-24T18:00", "end": "2026-12-27T08:00", "zone": "Europe/Berlin",
        "reason": "Maintenance",
    },
    "RecurrenceRequest": {
        "experiment": 12, "weekdays": [0, 1, 2, 3, 4], "starts_at": "22:00", "zone": "Europe/Berlin",
        "until": "2027-01-31",
    },
    "WindowRequest": {"experiment": 12, "weekdays": [5, 6], "starts_at": "22:00", "ends_at": "06:00"},
    "DeclarationRequest": {
        "curves": ["12-7", "15-8"], "reason": "The connection path is not what limits either of them.",
    },
    "KeptComparisonRequest": {"title": "Is 18 worth the upgrade?", "query": QUERY},
    "LinkRequest": {
        "name": "The board", "hidden": ["host", "address", "discount"], "expires": "30", "reviewed": DIGEST,
    },
    "WebhookRequest": {
        "name": "ci", "url": "https://ci.example.org/benchhub", "events": ["run.ended", "experiment.ended"],
    },
    "UserRequest": {"username": "rosa", "role": "runner", "password": "change me soon 7", "hosts": [3]},
}  # fmt: skip
CHANGES: Mapping[str, Any] = {
    "PatchedHostRequest": {"port": 2222},
    "PatchedInstanceRequest": {"database": "benchmark2"},
    "PatchedHardwareRequest": {"memory_gib": "512"},
    "PatchedConfigurationRequest": {"settings": {"shared_buffers": "96GB"}},
    "PatchedWorkloadRequest": {"scale": 1000},
    "PatchedLicenceModelRequest": {"minimum_per_server": "8"},
    "PatchedLicencePreviewRequest": {
        "metric": "core", "minimum_per_server": "4",
        "trial": {"hardware": 5, "price": "1800", "currency": "EUR", "years": 3},
    },
    "PatchedPriceSheetRequest": {
        "lines": [{"description": "Server", "quantity": "2", "unit_price": "12000.00"}], "priced_on": "2026-03-01",
    },
    "PatchedKeptComparisonRequest": {"title": "18 is worth the upgrade"},
    "PatchedWebhookRequest": {"is_active": False},
    "PatchedUserRequest": {"is_active": False},
}  # fmt: skip


def _level(clients: int, runs: list[int], low: float, high: float) -> dict[str, Any]:
    middle = (low + high) / 2
    return {
        "clients": clients, "n": 2, "left_out": 0, "geometric_mean": round((low * high) ** 0.5, 1), "median": middle,
        "arithmetic_mean": middle, "lowest": low, "highest": high,
        "sd": round((high - low) / 2**0.5, 2), "latency_average_ms": 1000 * clients / middle, "latency_p95_ms": None,
        "latency_p99_ms": None, "latency_samples": None, "low": low, "high": high, "low_to_high_is": "range of repeats",
        "runs": runs, "doubts": [],
    }  # fmt: skip


CURVE = {
    "key": "12-8", "system": 8, "label": "PostgreSQL 18", "unit": "TPS", "protocol_digest": DIGEST,
    "system_digest": DIGEST, "peak_clients": 8, "peak_remark": "", "withheld": "",
    "is_imported": False,
    "levels": [_level(1, [101, 104], 300.0, 310.0), _level(8, [102, 105], 1100.0, 1140.0)],
}  # fmt: skip
RUN = {
    "id": 102, "url": f"{BASE}runs/102/", "uuid": "0b8f4d52-5d0f-4c4e-9d6e-2f7c1a6f9e11", "experiment": 12, "system": 8,
    "kind": "measure", "position": 4, "clients": 8, "threads": 8, "repeat": 1,
    "spec": {"tool": "pgbench", "clients": 8},
    "protocol_digest": DIGEST, "expected_s": 72, "state": "succeeded", "reason": "", "cancel_asked_at": None,
    "created_at": AT, "started_at": AT, "ended_at": LATER, "delivery": None, "source": "", "provenance": "",
    "set_aside_at": None,
    "set_aside_reason": "",
    "result": {
        "throughput": 1100.0, "unit": "TPS", "latency_average_ms": 7.27, "latency_p50_ms": None,
        "latency_p95_ms": 9.8, "latency_p99_ms": 14.1, "measures": {"tps": {"value": 1100.0, "unit": "TPS"}},
        "doubts": [], "remarks": [], "parser": "pgbench/1", "parsed_at": LATER,
    },
}  # fmt: skip
EXPERIMENT = {
    "id": 12, "url": f"{BASE}experiments/12/", "name": "18 against 16", "remark": "", "tags": ["nightly"],
    "is_demonstration": False, "is_brought_in": False, "workload": 1, "systems": [7, 8], "design": None,
    "occasion_of": None,
    "client_build": 4, "client_bin_directory": "/usr/lib/postgresql/18/bin", "client_levels": [1, 8, 64],
    "thread_rule": "clients", "repeats": 3, "duration_s": 60, "warmup_s": 10, "rest_s": 0, "vacuum": True,
    "checkpoint": True, "priority": 0, "data_set_policy": "wait", "failure_policy": "continue", "failure_limit": 3,
    "attempts_if_lost": 2, "paused_at": None, "pause_reason": "", "created_by": "rosa", "created_at": AT,
    "run_count": 20, "ended_count": 20, "bad_count": 0, "cancelled_count": 0, "is_over": True,
}  # fmt: skip
SNAPSHOT = {
    "id": 7, "url": f"{BASE}snapshots/7/", "comparison": 3, "published": "", "title": "Is 18 worth the upgrade?",
    "sha256": DIGEST, "taken_by": "rosa", "taken_at": LATER, "link_count": 1,
}  # fmt: skip
LINK = {
    "id": 9, "url": f"{BASE}links/9/", "snapshot": 7, "name": "The board", "hidden": ["host", "address", "discount"],
    "state": "open", "has_password": False, "embedded_by": "", "expires_at": "2026-03-02T03:10:00Z", "paused_at": None,
    "revoked_at": None, "views": 4, "viewed_at": LATER, "created_by": "rosa", "created_at": LATER,
}  # fmt: skip
WEBHOOK = {
    "id": 2, "address": f"{BASE}webhooks/2/", "name": "ci", "target": "https://ci.example.org/benchhub",
    "events": ["run.ended", "experiment.ended"], "is_active": True, "created_by": "ada", "created_at": AT,
}  # fmt: skip
PRICE = {
    "key": "12-8", "licence_model": 2, "licence": "Per core", "clients": 8, "currency": "EUR", "price": "100.88",
    "exact": "100.8750000000000000000000000", "lowest": "99.11", "highest": "102.71", "interval": "range",
    "per_million": None, "total": "112980.00", "hardware": "5000.00", "licences": "107980.00", "support": "0.00",
    "flags": [], "derivation": ["Hardware: Two sockets at 5,000 EUR."], "missing": "",
    "verdict": "no clear winner", "candidates": ["PostgreSQL 16"],
}  # fmt: skip
ANSWERS: Mapping[str, Any] = {
    "AccountShown": {
        "id": 4, "username": "rosa", "role": "runner", "is_active": True, "is_on_all_hosts": False, "hosts": [3],
        "may_write_scripts": False, "last_login": AT, "scopes": ["read", "run"],
    },
    "Comparison": {
        "refusal": "", "declared": [], "problems": [], "baseline": "12-7", "unit": "TPS", "curves": [CURVE],
        "findings": [
            {
                "key": "12-8", "sentences": ["PostgreSQL 18 gives 1.12x the throughput of PostgreSQL 16."],
                "doubts": [],
                "rows": [
                    {
                        "where": "8 clients", "ratio": 1.12, "low": 1.08, "high": 1.16, "p": 0.002,
                        "p_of_several": 0.004,
                        "verdict": "more",
                    }
                ],
            }
        ],
        "ratios": [
            {
                "key": "12-8", "clients": 8, "ratio": 1.12, "lowest": 1.08, "highest": 1.16, "verdict": "more",
                "withheld": "", "is_highest": True, "is_best": True, "candidates": [],
            }
        ],
        "prices": {
            "terms": "3 years", "load": "at the peak", "unit": "TPS", "lead": "", "remark": "",
            "rows": [PRICE],
        },
    },
    "Count": {"count": 4, "experiment": f"{BASE}experiments/12/"},
    "CurveGroup": {"protocol_digest": DIGEST, "refusal": "", "curves": [CURVE]},
    "DeliveryMade": {
        "id": 5, "url": f"{BASE}deliveries/5/", "by": "ci", "token": "nightly", "at": LATER, "run_count": 2,
        "experiments": [f"{BASE}experiments/12/"], "runs": [101, 102],
    },
    "Experiment": EXPERIMENT,
    "KeptComparison": {
        "id": 3, "url": f"{BASE}kept-comparisons/3/", "title": "Is 18 worth the upgrade?", "remarks": "",
        "query": QUERY, "snapshot_count": 1, "created_by": "rosa", "created_at": AT, "changed_at": LATER,
    },
    "Leaderboard": {
        "workload": 4, "protocol": DIGEST, "by": "throughput", "unit": "TPS",
        "protocols": [{"digest": DIGEST, "words": "the one protocol (2 systems)"}],
        "lead": "Fastest: PostgreSQL 18, 1,120 TPS at 8 clients",
        "places": [{
            "place": 1, "key": "12-8", "label": "PostgreSQL 18", "hardware": "Two sockets", "throughput": 1120.0,
            "lowest": 1105.0, "highest": 1135.0, "clients": 8, "repeats": 5, "licence": "", "price": None,
            "total": None, "currency": None, "against_first": "", "verdict": "",
            "trust": "no reason for doubt was found", "is_demonstration": False,
        }],
    },
    "LicencePreview": {
        "words": "One licence for each core, at least 4 for each server.", "price_of": "one core", "units": 32,
        "currency": "EUR", "total": "57600.00", "support": "0.00", "flags": [],
        "steps": ["2 x 16 cores = 32 licences."], "refusal": "",
    },
    "Link": LINK,
    "LinkMade": {**LINK, "views": 0, "viewed_at": None, "address": f"https://bench.example.org/s/{TOKEN}/"},
    "Preview": {"run_count": 20, "load_count": 2, "total_s": 1560.0, "ahead": 0, "wait_s": 0.0, "doubts": []},
    "Run": RUN,
    "SheetPreview": {
        "total": "11250.00", "price": "11250.00", "maintenance": "0.00", "listed": "12500.00", "discounts": "1250.00",
        "flags": [], "steps": ["1 x 12,500.00 = 12,500.00."],
    },
    "ReviewShown": {
        "hidden": ["host", "address", "discount"], "digest": DIGEST, "marked_count": 1,
        "texts": [{
            "where": "Remarks", "text": "As agreed with ann@example.org.",
            "marks": [{"text": "ann@example.org", "why": "looks like somebody's address"}],
        }],
    },
    "Snapshot": SNAPSHOT,
    "WebhookMade": {**WEBHOOK, "secret": "shown this once, and kept by whoever checks signatures"},
    "WebhookShown": WEBHOOK,
}  # fmt: skip


def illustrate(schemas: dict[str, Any]) -> None:
    """Put each example to its component; a page of a list gets one of its rows."""
    for name, example in {**REQUESTS, **CHANGES, **ANSWERS}.items():
        if name in schemas:
            schemas[name]["examples"] = [example]
        page = schemas.get(f"Paginated{name}List")
        if page and name in ANSWERS:
            page["examples"] = [{"next": None, "previous": None, "results": [example]}]
