"""Load generators that BenchHub cannot read are named by what only they print."""

from __future__ import annotations

import pytest

from runners.tools.programs import program_of


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Vuser 1:TEST RESULT : System achieved 59078 NOPM from 134370 PostgreSQL TPM\n", "HammerDB"),
        ("[Current] DELIVERY - Takes(s): 9.9, Count: 36, TPM: 218.3, Sum(ms): 4589.1\n", "go-tpc"),
        ("READ   - Takes(s): 9.9, Count: 470, OPS: 47.3, Avg(us): 2416, Min(us): 723\n", "go-ycsb"),
        ("[OVERALL], RunTime(ms), 10110\n[OVERALL], Throughput(ops/sec), 98.9\n", "YCSB"),
        ("20:41:42,351 [Thread-24] INFO   jTPCC : Term-00, Measured tpmC (NewOrders) = 129.16\n", "BenchmarkSQL"),
        (
            "_elapsed___errors__ops/sec(inst)___ops/sec(cum)__p50(ms)\n    1.0s        0  1.0\n",
            "CockroachDB's workload",
        ),
        ("    EXECUTION\n    iteration_duration.............: avg=74.58ms  min=6.88ms\n", "k6"),
        ("Running 30s test @ http://db:8080/\n  16 threads and 256 connections\n", "wrk"),
        ("ALL STATS\n======\nType         Ops/sec     Hits/sec\n", "memtier_benchmark"),
        ("This is ApacheBench, Version 2.3 <$Revision: 1903618 $>\n", "ApacheBench"),
        ("fio-3.36\nStarting 4 processes\n  read: IOPS=12.1k, BW=94.8MiB/s\n", "fio"),
        # What runs pgbench prints its summary as well.
        ("This is test 12\ntransaction type: <builtin: select only>\n", "pgbench"),
        ("done in 1.2 s\n", ""),
    ],
)
def test_a_program_is_named_by_what_only_it_prints(text: str, name: str) -> None:
    assert program_of(text) == name
