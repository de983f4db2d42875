"""TATP's tables and their rows, as SQL that the server runs by itself: no row travels.

A row's values are digits of the MD5 sum of the seed and the row's key, so that a seed fixes every row, in whatever
order and by however many sessions it is made, and on any server. Counts and sets of types come from one number each:
the first k of a permutation of the types, both k and the permutation equally likely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, permutations

from .parameters import LONGEST_FORWARDING, Parameters

TABLES = ("subscriber", "access_info", "special_facility", "call_forwarding")
TYPES = (1, 2, 3, 4)
STARTS = (0, 8, 16)
LETTERS = 26
LOCATIONS = 2**31 - 1
# The comment on the table subscriber: by it a load knows that the tables may be replaced, and a run what is in them.
MARK = "BenchHub TATP 1:"
# Distributions are checked on so many subscribers: a row does not depend on how many follow it.
CHECKED_SUBSCRIBERS = 200_000


def mark(parameters: Parameters) -> str:
    """Return the comment on subscriber of a population that is complete."""
    return f"{MARK} {parameters.subscribers} subscribers, seed {parameters.seed}, end times by {parameters.population}"


SUBSCRIBER_COLUMNS = (
    "s_id",
    "sub_nbr",
    *(f"bit_{i}" for i in range(1, 11)),
    *(f"hex_{i}" for i in range(1, 11)),
    *(f"byte2_{i}" for i in range(1, 11)),
    "msc_location",
    "vlr_location",
)

CREATE_SQL = f"""\
DO $$ BEGIN
    IF EXISTS (
        SELECT 1 FROM pg_class WHERE oid = to_regclass('subscriber')
        AND coalesce(obj_description(oid, 'pg_class'), '') NOT LIKE '{MARK}%'
    ) THEN
        RAISE EXCEPTION 'There is a table subscriber that BenchHub did not make: use another database for TATP.';
    END IF;
END $$;
DROP TABLE IF EXISTS call_forwarding, special_facility, access_info, subscriber;
CREATE TABLE subscriber (
    s_id integer NOT NULL,
    sub_nbr varchar(15) NOT NULL,
    {", ".join(f"bit_{i} smallint" for i in range(1, 11))},
    {", ".join(f"hex_{i} smallint" for i in range(1, 11))},
    {", ".join(f"byte2_{i} smallint" for i in range(1, 11))},
    msc_location integer,
    vlr_location integer
);
COMMENT ON TABLE subscriber IS '{MARK} not complete';
CREATE TABLE access_info (
    s_id integer NOT NULL,
    ai_type smallint NOT NULL,
    data1 smallint,
    data2 smallint,
    data3 char(3),
    data4 char(5)
);
CREATE TABLE special_facility (
    s_id integer NOT NULL,
    sf_type smallint NOT NULL,
    is_active smallint NOT NULL,
    error_cntrl smallint,
    data_a smallint,
    data_b char(5)
);
CREATE TABLE call_forwarding (
    s_id integer NOT NULL,
    sf_type smallint NOT NULL,
    start_time smallint NOT NULL,
    end_time smallint,
    numberx varchar(15)
);
"""

# What can be made at the same time, and what must wait for it.
KEYS_SQL = {
    "subscriber": "ALTER TABLE subscriber ADD PRIMARY KEY (s_id), ADD UNIQUE (sub_nbr)",
    "access_info": "ALTER TABLE access_info ADD PRIMARY KEY (s_id, ai_type)",
    "special_facility": "ALTER TABLE special_facility ADD PRIMARY KEY (s_id, sf_type)",
    "call_forwarding": "ALTER TABLE call_forwarding ADD PRIMARY KEY (s_id, sf_type, start_time)",
}
FOREIGN_KEYS_SQL = (
    "ALTER TABLE access_info ADD FOREIGN KEY (s_id) REFERENCES subscriber (s_id)",
    "ALTER TABLE special_facility ADD FOREIGN KEY (s_id) REFERENCES subscriber (s_id)",
    "ALTER TABLE call_forwarding ADD FOREIGN KEY (s_id, sf_type) REFERENCES special_facility (s_id, sf_type)",
)


def _digits(text: str, first: int, count: int) -> str:
    """Return SQL of the number in so many hexadecimal digits, from the first-th (counted from 1) on."""
    return f"('x' || substr({text}, {first}, {count}))::bit({4 * count})::bigint"


def _byte(text: str, first: int) -> str:
    return f"('x' || substr({text}, {first}, 2))::bit(8)::int"


def _letters(number: str, count: int) -> str:
    """Return SQL of a number below 26 ** count in letters."""
    return " || ".join(f"chr(65 + ({number} / {LETTERS**i} % {LETTERS})::int)" for i in range(count))


def _orders(items: tuple[int, ...]) -> str:
    """Return all permutations of the items, by their places in the tuple, one after the other."""
    return "".join("".join(map(str, order)) for order in permutations(range(len(items))))


def _hash(seed: int, salt: str, *keys: str) -> str:
    """Return SQL of the MD5 sum, 32 digits, of the seed, the name and the keys."""
    joined = " || '/' || ".join(keys)
    return f"md5('{seed}/{salt}/' || {joined})"


def _types(seed: int, table: str, column: str) -> str:
    """Return SQL of rows (s_id, <column>, h): for each subscriber 1 to 4 types, h to take the other values from."""
    return f"""\
SELECT s.s_id, t.{column}, {_hash(seed, table, "s.s_id", f"t.{column}")} AS h
FROM (SELECT i AS s_id, {_digits(_hash(seed, table, "i"), 1, 7)} AS n
      FROM generate_series(:first, :last) AS i OFFSET 0) AS s
CROSS JOIN LATERAL (
    SELECT substr('{_orders(TYPES)}', (s.n / 4 % 24)::int * 4 + place, 1)::smallint + 1 AS {column}
    FROM generate_series(1, (s.n % 4)::int + 1) AS place
) AS t"""


def populate_sql(parameters: Parameters) -> str:
    """Return SQL that makes the rows of the subscribers from :first to :last, as one transaction."""
    seed, longest = parameters.seed, LONGEST_FORWARDING[parameters.population]
    facilities = f"WITH facility AS (\n{_special_facilities(seed)}\nRETURNING s_id, sf_type\n)"
    statements = (_subscribers(seed), _access_infos(seed), f"{facilities}\n{_call_forwardings(seed, longest)}")
    return "BEGIN;\n" + "".join(f"{statement};\n" for statement in statements) + "COMMIT;\n"


def _subscribers(seed: int) -> str:
    bits = [f"(get_byte(b, {i // 8}) >> {i % 8}) & 1" for i in range(10)]
    nibbles = [f"(get_byte(b, {2 + i // 2}) >> {4 * (i % 2)}) & 15" for i in range(10)]
    wide = [f"get_byte(b, {7 + i})" for i in range(10)]
    locations = [f"{_digits('h', first, 12)} % {LOCATIONS} + 1" for first in (35, 47)]
    return f"""\
INSERT INTO subscriber
SELECT s_id, lpad(s_id::text, 15, '0'), {", ".join([*bits, *nibbles, *wide, *locations])}
FROM (SELECT *, decode(h, 'hex') AS b
      FROM (SELECT s_id, {_hash(seed, "subscriber", "s_id")} || {_hash(seed, "location", "s_id")} AS h
            FROM generate_series(:first, :last) AS s_id OFFSET 0) AS hashed OFFSET 0) AS made"""


def _access_infos(seed: int) -> str:
    return f"""\
INSERT INTO access_info
SELECT s_id, ai_type, {_byte("h", 1)}, {_byte("h", 3)}, {_letters("three", 3)}, {_letters("five", 5)}
FROM (SELECT *, {_digits("h", 5, 12)} AS three, {_digits("h", 17, 12)} AS five
      FROM ({_types(seed, "access_info", "ai_type")} OFFSET 0) AS hashed OFFSET 0) AS made"""


def _special_facilities(seed: int) -> str:
    return f"""\
INSERT INTO special_facility
SELECT s_id, sf_type, ({_digits("h", 21, 8)} % 20 < 17)::int, {_byte("h", 1)}, {_byte("h", 3)}, {_letters("five", 5)}
FROM (SELECT *, {_digits("h", 5, 12)} AS five
      FROM ({_types(seed, "special_facility", "sf_type")} OFFSET 0) AS hashed OFFSET 0) AS made"""


def _call_forwardings(seed: int, longest: int) -> str:
    start = f"substr('{_orders(STARTS)}', (n / 4 % 6)::int * 3 + place, 1)::smallint * 8"
    return f"""\
INSERT INTO call_forwarding
SELECT s_id, sf_type, start_time, start_time + 1 + {_digits("h", 1, 7)} % {longest},
    lpad(({_digits("h", 8, 15)} % 1000000000000000)::text, 15, '0')
FROM (SELECT *, {_hash(seed, "call_forwarding", "s_id", "sf_type", "start_time")} AS h
      FROM (SELECT s_id, sf_type, {start} AS start_time
            FROM (SELECT *, {_digits(_hash(seed, "call_forwarding", "s_id", "sf_type"), 1, 7)} AS n
                  FROM facility OFFSET 0) AS counted, generate_series(1, (n % 4)::int) AS place
            OFFSET 0) AS chosen OFFSET 0) AS made"""


# --- checks of what was made ----------------------------------------------------------------------------------


def _column(table: str, column: str, value: str, limit: str) -> str:
    return f"SELECT '{column}', ({value})::int, count(*) FROM {table}{limit} GROUP BY 2"


def _set_of(table: str, column: str, limit: str) -> str:
    """Return SQL that counts which types a subscriber has, as a sum of powers of two."""
    inner = f"SELECT sum(1 << ({column} - 1)) AS types FROM {table}{limit} GROUP BY s_id"
    return f"SELECT '{column} set', types::int, count(*) FROM ({inner}) AS sets GROUP BY 2"


def _letter_columns(table: str, column: str, count: int, limit: str) -> Iterator[str]:
    for i in range(1, count + 1):
        yield _column(table, f"{column} letter {i}", f"ascii(substr({column}, {i}, 1)) - 65", limit)


def distributions_sql(subscribers: int = CHECKED_SUBSCRIBERS) -> str:
    """Return SQL that gives rows (distribution, value, count) of so many first subscribers; see `expected_shares`."""
    limit = f" WHERE s_id <= {subscribers}"
    parts = [
        *(_column("subscriber", name, name, limit) for name in SUBSCRIBER_COLUMNS[2:-2]),
        *(_column("subscriber", name, f"({name} - 1) >> 27", limit) for name in SUBSCRIBER_COLUMNS[-2:]),
        _set_of("access_info", "ai_type", limit),
        *(_column("access_info", name, name, limit) for name in ("data1", "data2")),
        *_letter_columns("access_info", "data3", 3, limit),
        *_letter_columns("access_info", "data4", 5, limit),
        _set_of("special_facility", "sf_type", limit),
        *(_column("special_facility", name, name, limit) for name in ("is_active", "error_cntrl", "data_a")),
        *_letter_columns("special_facility", "data_b", 5, limit),
        _starts(limit),
        _column("call_forwarding", "end_time after start_time", "end_time - start_time", limit),
        _column("call_forwarding", "numberx first digits", "left(numberx, 2)", limit),
    ]
    return "\nUNION ALL ".join(parts)


def _starts(limit: str) -> str:
    """Return SQL that counts which start times a special facility has, as a sum of powers of two; 0 for none."""
    return f"""\
SELECT 'start_time set', starts::int, count(*) FROM (
    SELECT coalesce(sum(1 << (start_time / 8)), 0) AS starts FROM special_facility AS f
    LEFT JOIN call_forwarding AS c USING (s_id, sf_type){limit} GROUP BY s_id, sf_type) AS sets GROUP BY 2"""


def expected_shares(parameters: Parameters) -> Mapping[str, Mapping[int, float]]:
    """Return the share of each value by the definition, by distribution of `distributions_sql`."""
    longest = LONGEST_FORWARDING[parameters.population]
    letters = [f"{name} letter {i}" for name, n in (("data3", 3), ("data4", 5), ("data_b", 5)) for i in range(1, n + 1)]
    return {
        **{f"bit_{i}": _even(range(2)) for i in range(1, 11)},
        **{f"hex_{i}": _even(range(16)) for i in range(1, 11)},
        **{f"byte2_{i}": _even(range(256)) for i in range(1, 11)},
        **{name: _even(range(16)) for name in ("msc_location", "vlr_location")},
        **{name: _even(range(256)) for name in ("data1", "data2", "error_cntrl", "data_a")},
        **{name: _even(range(LETTERS)) for name in letters},
        **{name: _sets(len(TYPES), fewest=1) for name in ("ai_type set", "sf_type set")},
        "is_active": {0: 0.15, 1: 0.85},
        "start_time set": _sets(len(STARTS), fewest=0),
        "end_time after start_time": _even(range(1, longest + 1)),
        "numberx first digits": _even(range(100)),
    }


def _even(values: range) -> dict[int, float]:
    return dict.fromkeys(values, 1 / len(values))


def _sets(size: int, fewest: int) -> dict[int, float]:
    """Return sets of `fewest` to all of `size` items, as sums of powers of two: each number of items equally likely."""
    numbers = range(fewest, size + 1)
    subsets = {number: list(combinations(range(size), number)) for number in numbers}
    return {
        sum(1 << place for place in places): 1 / len(numbers) / len(sets)
        for sets in subsets.values()
        for places in sets
    }


# What a run relies on, as one line of text: cheap enough to be asked before each.
FOUND_SQL = """\
SELECT concat_ws(', ', coalesce(obj_description('subscriber'::regclass, 'pg_class'), 'not made by BenchHub'),
    (SELECT count(*) FROM subscriber) || ' rows up to ' || (SELECT max(s_id) FROM subscriber),
    (SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND conrelid IN ({tables})) || ' primary keys',
    (SELECT count(*) FROM pg_constraint WHERE contype = 'u' AND conrelid IN ({tables})) || ' unique',
    (SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND conrelid IN ({tables})) || ' foreign keys')""".format(
    tables=", ".join(f"'{table}'::regclass" for table in TABLES)
)


def expected_line(parameters: Parameters) -> str:
    """Return what FOUND_SQL says of these parameters' data set."""
    rows = f"{parameters.subscribers} rows up to {parameters.subscribers}"
    return f"{mark(parameters)}, {rows}, 4 primary keys, 1 unique, 3 foreign keys"


# How far transactions have changed call_forwarding: its rows, and those that end outside the populated range of
# :longest after their start, which only an insert can make; and whether each subscriber is still there.
STATE_SQL = """\
SELECT count(*), count(*) FILTER (WHERE end_time - start_time NOT BETWEEN 1 AND {longest}),
    (SELECT count(*) FROM special_facility), (SELECT count(*) FROM subscriber) FROM call_forwarding"""

# One pass over each table. Sums of products tell values that changed places; a fresh population depends on its
# parameters alone.
FINGERPRINT_SQL = f"""\
SELECT md5(concat_ws(' ', s, a, f, c)) FROM
(SELECT concat_ws(',', count(*), {", ".join(f"sum({name}::bigint * (s_id % 97))" for name in SUBSCRIBER_COLUMNS[2:])})
    AS s FROM subscriber) AS subscribers,
(SELECT concat_ws(',', count(*), sum(ai_type * (s_id % 97)), sum(data1 * (s_id % 97)), sum(data2 * (s_id % 97)),
    sum(ascii(data3) * (s_id % 97)), sum(ascii(data4) * (s_id % 97))) AS a FROM access_info) AS accesses,
(SELECT concat_ws(',', count(*), sum(sf_type * (s_id % 97)), sum(is_active * (s_id % 97)),
    sum(error_cntrl * (s_id % 97)), sum(data_a * (s_id % 97)), sum(ascii(data_b) * (s_id % 97))) AS f
    FROM special_facility) AS facilities,
(SELECT concat_ws(',', count(*), sum(start_time * sf_type * (s_id % 97)), sum(end_time * (s_id % 97)),
    sum(numberx::bigint % 9973 * (s_id % 97))) AS c FROM call_forwarding) AS forwardings"""
