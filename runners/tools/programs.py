"""Name the load generator that printed a text, also one that BenchHub cannot read, by what only it prints."""

from __future__ import annotations

import re

# The first that fits counts: those that print next to nothing of their own stand last.
PROGRAMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.MULTILINE))
    for name, pattern in (
        ("HammerDB", r"TEST RESULT : System achieved|^HammerDB CLI v|^Vuser 1:|Hammerdb Time Profile Report"),
        ("go-tpc", r"^tpmC: [0-9.]|^\[(?:Current|Summary)\] \w{1,30} - Takes\(s\): |\"Prefix\":\"\[Summary\] \""),
        (
            "BenchBase",
            r"\bcom\.oltpbenchmark\b|Rate limited reqs/s: Results\(|^\[INFO \] .{0,60}\bDBWorkload\b"
            r"|\"(?:Throughput|Goodput) \(requests/second\)\"",
        ),
        ("BenchmarkSQL", r"Measured tpmC \(NewOrders\)|\bTerm-00, Running Average tpmTOTAL: "),
        ("go-ycsb", r"^[A-Z_]{4,20} {1,8}- Takes\(s\): [^\n]{1,60}, OPS: "),
        ("YCSB", r"^\[OVERALL\], (?:RunTime|Throughput)\("),
        ("tpcc-mysql", r"^<TpmC>|^ {1,40}[0-9.]{1,20} TpmC\b"),
        ("DBT-2", r"new-order transactions per minute \(NOTPM\)"),
        ("mysqlslap", r"Average number of seconds to run all queries"),
        ("CockroachDB's workload", r"^_elapsed___errors_"),
        ("k6", r"^ {0,16}(?:✓ )?(?:iteration_duration|vus_max)\.{2,80}: "),
        ("wrk", r"^Running [0-9]{1,6}[smh] test @ |^Requests/sec: +[0-9]"),
        ("memtier_benchmark", r"^ALL STATS$"),
        ("ApacheBench", r"^This is ApacheBench"),
        ("fio", r"^fio-[0-9]|^ {1,8}(?:read|write): IOPS="),
        ("sysbench", r"^sysbench [0-9]|^SQL statistics:|^OLTP test statistics:|^Threads fairness:"),
        ("pgbench", r"^transaction type: |^pgbench \(|^number of transactions actually processed: "),
        ("pgbench -i, which loads a data set", r"^(?:creating tables|generating data|creating primary keys)"),
    )
)
# HammerDB names its database in its result; of others only a command line that stands beside them does.
TPM = re.compile(r"\b[0-9]{1,15} ([A-Z][A-Za-z0-9 ]{1,20}) TPM\b")
MYSQL = re.compile(r"--mysql-|--db-driver=mysql|-d mysql\b|jdbc:(?:mysql|mariadb):|FATAL: mysql_")


def program_of(text: str) -> str:
    """Return the name of the program that printed a text; "" where nothing tells."""
    return next((name for name, pattern in PROGRAMS if pattern.search(text)), "")


def database_of(text: str) -> str:
    """Return the database that a load generator's text names as its own; "" where it names none."""
    if result := TPM.search(text):
        return result[1]
    return "MySQL" if MYSQL.search(text) else ""
