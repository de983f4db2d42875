#!/bin/sh
# Records what sysbench really prints, for the tests of its parser.
# Usage: record_sysbench.sh VERSION SYSBENCH SCRIPT OUTPUT_FOLDER, with PGHOST, PGPORT, PGUSER and PGDATABASE naming a scratch
# server on which SCRIPT has prepared 2 tables of 5,000 rows. 0.5 and 1.1 are of akopytov/sysbench's branch 0.5 and its master
# (3ceba0b), built with PostgreSQL as their only database; SCRIPT is their oltp.lua and oltp_read_write.lua.
set -u
version=$1
sysbench=$2
script=$3
output=$4
place="--db-driver=pgsql --pgsql-host=$PGHOST --pgsql-port=$PGPORT --pgsql-user=$PGUSER --pgsql-db=$PGDATABASE"

record() {
    case=$1
    shift
    if [ "$version" = 0.5 ]; then
        set -- --test="$script" --oltp-tables-count=2 --oltp-table-size=5000 --num-threads=4 --max-requests=0 "$@" run
    else
        set -- "$script" --tables=2 --table-size=5000 --threads=4 "$@" run
    fi
    # shellcheck disable=SC2086
    "$sysbench" $place "$@" >"$output/sysbench-$version-$case.txt" 2>&1
}

time=--time
[ "$version" = 0.5 ] && time=--max-time
record plain "$time=3"
record progress "$time=6" --report-interval=2
record rate "$time=4" --report-interval=1 --percentile=99 "$([ "$version" = 0.5 ] && echo --tx-rate=100 || echo --rate=100)"
record checkpoints "$time=4" --report-checkpoints=2
[ "$version" = 0.5 ] && exit
record histogram "$time=4" --report-interval=1 --percentile=99 --histogram=on
[ "$version" = 1.0.20 ] && exit
record warmup "$time=4" --warmup-time=2 --report-interval=1
