"""Deliveries of recorded outputs, as a program sends them, and what they are refused for."""

import copy
from pathlib import Path

from benchhub.api.bench.deliveries import EXAMPLE
from benchhub.bench.models import Run

RECORDED = Path(__file__).resolve().parents[3] / "runners" / "tools" / "recorded"
WORKLOADS = {
    "reads": {"script": "select-only", "query_mode": "simple", "scale": 1},
    "reads, prepared": {"script": "select-only", "query_mode": "prepared", "scale": 1},
    "updates": {"script": "simple-update", "query_mode": "simple", "scale": 1},
    "TPC-B": {"script": "tpcb-like", "query_mode": "extended", "scale": 1},
    "files": {"script": "custom", "scale": 1, "scripts": [{"text": "SELECT 1;", "weight": 3}, {"text": "SELECT 2;"}]},
}


def delivery(stdout, workload, release, **changes):
    """A run of 1 s by 4 clients on 2 threads, as most recordings are."""
    sent = copy.deepcopy(EXAMPLE)
    sent["system"] |= {"hardware": "Box", "postgresql": release}
    sent |= {"workload": workload, "client_version": release, "clients": 4, "thread_rule": "2", "duration_s": 1}
    return {**sent, "output": {"stdout": stdout}, **changes}


def recorded(version, case, workload, release, **changes):
    return delivery((RECORDED / version / case / "out.log").read_text(), workload, release, **changes)


def faults(courier, sent):
    answer = courier.send("post", "deliveries/", sent)
    assert answer.status_code == 422, answer.content
    assert not Run.objects.exists()
    return [(fault["pointer"], fault["detail"]) for fault in answer.json()["errors"]]
