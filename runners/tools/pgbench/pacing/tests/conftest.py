from __future__ import annotations

from runners.tools.pgbench.tests.conftest import cluster, spec

__all__ = ["cluster", "spec"]
