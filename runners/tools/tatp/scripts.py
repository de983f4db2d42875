"""The seven transactions: their SQL, and the pgbench scripts that send it.

A script tells outcomes with debug(), which is pgbench's only way to print a value without the server or a shell, and
prints as little as it can, for that takes from the throughput. Of the three transactions with accepted failures each
success is told, by how many transactions its client has ended since the success before, which each script counts for
that; in a fast load several are told at once. A failure is not told: a write that does not tell its success has failed.
Of the two reads that may find nothing only counts are told, every 16th; in a fast load most of them do not look whether
a row came, and those that do are scripts of their own. `log` reads what is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from .parameters import ACCEPTING, NON_UNIFORM, TRANSACTIONS, Parameters
from .population import SUBSCRIBER_COLUMNS

# Decimal digits of a mark, from the right: its kind, and the client (5). Kind 1 are successes in their order, three
# digits each: four times the transactions since the one before, and its place in ACCEPTING from 1. Kind 3, 5 or 6,
# which is the script, is one that came later than three digits can say: then the transactions since the one before.
MARK_CLIENT, MARK_SUCCESSES, SUCCESSES = 10, 1_000_000, 1
ONE_SUCCESS, PLACES, LONGEST_GAP = 1_000, 4, 249
# What an integer of pgbench holds of them.
MOST_TOLD_AT_ONCE = 4
# Variables that begin at 0: the transactions since the last success, successes that are not told yet, and counts of
# reads. pgbench finds a variable among all names by halving: with these names the two that each script uses, the first
# of them and s_id, come early.
COUNTER, HELD, READS_SEEN = VARIABLES_READY = "done", "held", "a_reads"
# Of counts, from the right: a 2, then 4 digits each of: new destinations found, asked for; access data likewise.
COUNTS = 2
ACCESS_ASKED, ACCESS_FOUND, DESTINATION_ASKED, DESTINATION_FOUND = 10**12, 10**8, 10**4, 1
MOST_COUNTED = 10**4
# What so many reads have found is told at once; what a client has not told by the end is lost.
TOLD_EVERY = 16

BY_NUMBER = "SELECT s_id FROM subscriber WHERE sub_nbr = lpad(:s_id::text, 15, '0')"

SQL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "GET_SUBSCRIBER_DATA": (f"SELECT {', '.join(SUBSCRIBER_COLUMNS)} FROM subscriber WHERE s_id = :s_id",),
        "GET_NEW_DESTINATION": (
            "SELECT cf.numberx FROM special_facility AS sf, call_forwarding AS cf"
            " WHERE sf.s_id = :s_id AND sf.sf_type = :sf_type AND sf.is_active = 1"
            " AND cf.s_id = sf.s_id AND cf.sf_type = sf.sf_type"
            " AND cf.start_time <= :start_time AND :end_time < cf.end_time",
        ),
        "GET_ACCESS_DATA": (
            "SELECT data1, data2, data3, data4 FROM access_info WHERE s_id = :s_id AND ai_type = :ai_type",
        ),
        "UPDATE_SUBSCRIBER_DATA": (
            "UPDATE subscriber SET bit_1 = :bit WHERE s_id = :s_id",
            "UPDATE special_facility SET data_a = :data_a WHERE s_id = :s_id AND sf_type = :sf_type RETURNING 1 AS ok",
        ),
        "UPDATE_LOCATION": (
            "UPDATE subscriber SET vlr_location = :vlr_location WHERE sub_nbr = lpad(:s_id::text, 15, '0')",
        ),
        # A plain INSERT that breaks a key would abort pgbench's client, so it is made to insert nothing instead.
        "INSERT_CALL_FORWARDING": (
            BY_NUMBER,
            "SELECT sf_type FROM special_facility WHERE s_id = :s_id",
            "INSERT INTO call_forwarding (s_id, sf_type, start_time, end_time, numberx)"
            " SELECT s_id, sf_type, :start_time::smallint, :end_time::smallint, lpad(:numberx::text, 15, '0')"
            " FROM special_facility WHERE s_id = :s_id AND sf_type = :sf_type"
            " ON CONFLICT (s_id, sf_type, start_time) DO NOTHING RETURNING 1 AS ok",
        ),
        "DELETE_CALL_FORWARDING": (
            BY_NUMBER,
            "DELETE FROM call_forwarding WHERE s_id = :s_id AND sf_type = :sf_type AND start_time = :start_time"
            " RETURNING 1 AS ok",
        ),
    }
)

# What the random values of a transaction are drawn from; s_id is a subscriber by the rule of the parameters.
DRAWN: Mapping[str, str] = MappingProxyType(
    {
        "sf_type": "random(1, 4)",
        "ai_type": "random(1, 4)",
        "start_time": "random(0, 2) * 8",
        "end_time": "random(1, 24)",
        "bit": "random(0, 1)",
        "data_a": "random(0, 255)",
        "vlr_location": "random(1, 2147483647)",
        "numberx": "random(0, 999999999999999)",
    }
)
# Each further name costs time, so they are few; where a subscriber is meant by number, s_id stands for the number too.
VARIABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "GET_SUBSCRIBER_DATA": ("s_id",),
        "GET_NEW_DESTINATION": ("s_id", "sf_type", "start_time", "end_time"),
        "GET_ACCESS_DATA": ("s_id", "ai_type"),
        "UPDATE_SUBSCRIBER_DATA": ("s_id", "sf_type", "bit", "data_a"),
        "UPDATE_LOCATION": ("s_id", "vlr_location"),
        "INSERT_CALL_FORWARDING": ("s_id", "sf_type", "start_time", "end_time", "numberx"),
        "DELETE_CALL_FORWARDING": ("s_id", "sf_type", "start_time"),
    }
)


class Script(NamedTuple):
    text: str
    weight: int


def scripts(parameters: Parameters, reads_every: int = 1, told_at_once: int = 1) -> tuple[Script, ...]:
    """Return the scripts in the order of TRANSACTIONS.

    Where only one in `reads_every` of the reads that may find nothing is looked at, these follow: `log.LOOKED_AT`.
    A client tells `told_at_once` successes of its writes together, 1 to MOST_TOLD_AT_ONCE.
    """
    script = partial(_script, parameters, told_at_once)
    plain, looked_at = [], []
    for number, weight in enumerate(parameters.weighed):
        if TRANSACTIONS[number] in READS and reads_every > 1:
            plain.append(Script(script(number, looks=False), weight * (reads_every - 1)))
            looked_at.append(Script(script(number, looks=True), weight))
        else:
            plain.append(Script(script(number, looks=True), weight * reads_every))
    return (*plain, *looked_at)


def _script(parameters: Parameters, told_at_once: int, number: int, *, looks: bool) -> str:
    """Return the text of a script. `looks`: whether a read that may find nothing looks if it has."""
    name = TRANSACTIONS[number]
    sets = [f"\\set {variable} {_expression(parameters, variable)}" for variable in VARIABLES[name]]
    if name in READS and looks:
        body = _read(SQL[name][0], *READS[name])
    elif name in WRITES:
        body = _accepting(number, told_at_once, SQL[name])
    else:
        body = [f"{statement};" for statement in SQL[name]]
    return "\n".join([f"\\set {COUNTER} :{COUNTER} + 1", *sets, *body, ""])


def _expression(parameters: Parameters, variable: str) -> str:
    if variable != "s_id":
        return DRAWN[variable]
    n = parameters.subscribers
    if parameters.keys == NON_UNIFORM:
        return f"(random(0, {parameters.or_mask}) | random(1, {n})) % {n} + 1"
    return f"random(1, {n})"


def _read(statement: str, absent: str, seen_mark: int, found_mark: int) -> list[str]:
    """Return the lines of a read that may find nothing: `absent` is a column, which is -1 only then."""
    counter = f":{READS_SEEN} + case when :{absent} < 0 then {seen_mark} else {seen_mark + found_mark} end"
    has_room = f":{READS_SEEN} % {seen_mark * MOST_COUNTED} < {seen_mark * (TOLD_EVERY - 1)}"
    report = f"0 * debug(({counter}) * 10 + {COUNTS})"
    return [
        f"\\set {absent} -1",
        f"{statement} \\aset",
        f"\\set {READS_SEEN} case when {has_room} then {counter} else {report} end",
    ]


def _accepting(number: int, told_at_once: int, statements: tuple[str, ...]) -> list[str]:
    """Return the lines of a write, rolled back if its last statement does nothing; a SELECT first gives :s_id."""
    first, *between, last = statements
    return [
        "\\set ok 0",
        "BEGIN;",
        f"{first} \\gset" if first.startswith("SELECT") else f"{first};",
        *(f"{statement};" for statement in between),
        f"{last} \\aset",
        *("\\if :ok", "COMMIT;", *_succeeded(number, told_at_once), "\\else", "ROLLBACK;", "\\endif"),
    ]


def _succeeded(number: int, told_at_once: int) -> list[str]:
    """Tell a success, or hold it where more are to be told with it."""
    held = f":{HELD} * {ONE_SUCCESS} + :{COUNTER} * {PLACES} + {ACCEPTING.index(number) + 1}"
    has_room = f":{HELD} < {ONE_SUCCESS ** (told_at_once - 2)}" if told_at_once > 1 else f":{HELD} < 0"
    is_near = f":{COUNTER} <= {LONGEST_GAP}"
    far = f"debug({_mark(f':{HELD}', SUCCESSES)}) + debug({_mark(f':{COUNTER}', number)})"
    report = f"case when {is_near} then 0 * debug({_mark(held, SUCCESSES)}) else 0 * ({far}) end"
    return [
        f"\\set {HELD} case when {has_room} and {is_near} then {held} else {report} end",
        f"\\set {COUNTER} 0",
    ]


def _mark(expression: str, kind: int) -> str:
    return f"({expression}) * {MARK_SUCCESSES} + :client_id * {MARK_CLIENT} + {kind}"


# By read that may find nothing: a column of its rows, and what one asked and one found add to :a_reads.
READS: Mapping[str, tuple[str, int, int]] = MappingProxyType(
    {
        "GET_NEW_DESTINATION": ("numberx", DESTINATION_ASKED, DESTINATION_FOUND),
        "GET_ACCESS_DATA": ("data1", ACCESS_ASKED, ACCESS_FOUND),
    }
)
WRITES = frozenset(TRANSACTIONS[number] for number in ACCEPTING)
