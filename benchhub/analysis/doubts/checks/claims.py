"""Check what an output says of its run against what was asked for."""

from __future__ import annotations

from benchhub.analysis.doubts.evidence import Evidence, Finding


def threads(evidence: Evidence) -> Finding | None:
    clients, threads = evidence.clients, evidence.threads
    if threads is None or threads < 1:
        return None
    if threads > clients:
        return "threads-beyond-clients", f"{threads} threads for {clients} clients: pgbench uses {clients}."
    if clients % threads:
        return "threads-uneven", f"{clients} clients cannot be divided evenly over {threads} threads."
    return None


def scale(evidence: Evidence) -> Finding | None:
    planned, reported = evidence.asked_scale, evidence.reported_scale
    if planned is None or reported is None or planned == reported:
        return None
    return "scale", f"Scale {planned} was asked for, but pgbench found scale {reported}."


def clients(evidence: Evidence) -> Finding | None:
    """Check that the output is of as many clients as were asked for."""
    reported = evidence.reported_clients
    if reported is None or reported == evidence.clients:
        return None
    return "clients", f"{evidence.clients:,} clients were asked for, but the output is of {reported:,}."


def reported_threads(evidence: Evidence) -> Finding | None:
    """Check that the output is of as many threads as were asked for; pgbench uses no more than it has clients."""
    planned, reported = evidence.threads, evidence.reported_threads
    if planned is None or reported is None or reported in (planned, min(planned, evidence.clients)):
        return None
    return "threads", f"{planned:,} threads were asked for, but the output is of {reported:,}."
