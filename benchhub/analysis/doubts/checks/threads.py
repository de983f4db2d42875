"""Check how the clients are divided over the threads of the load generator."""

from __future__ import annotations

from benchhub.analysis.doubts.evidence import Evidence, Finding


def threads(evidence: Evidence) -> Finding | None:
    clients, threads = evidence.clients, evidence.threads
    if threads is None or threads < 1:
        return None
    if threads > clients:
        return "threads-beyond-clients", f"{threads} threads for {clients} clients: pgbench uses {clients}."
    if clients % threads:
        return "threads-uneven", (
            f"{clients} clients cannot be divided evenly over {threads} threads, so some wait longer than others. Take "
            "threads that divide the clients."
        )
    return None
