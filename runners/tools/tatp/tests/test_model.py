"""A model of the seven transactions in plain Python, over the rows of a real population, must agree with the database.

4,000 transactions with a fixed seed (20,000 by `make test-whole`) are run one by one, with the very SQL of the scripts;
each answer is compared, and at the end every row that they can change.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from benchhub.embedded.postgres import Cluster
from conftest import WHOLE
from runners.tools.tatp.parameters import TRANSACTIONS, Parameters, read
from runners.tools.tatp.population import SUBSCRIBER_COLUMNS
from runners.tools.tatp.scripts import SQL
from runners.tools.tatp.testing import load, spec_of

pytestmark = pytest.mark.target

NUMBER = 20_000 if WHOLE else 4_000
PARAMETERS = {"subscribers": 2_000, "seed": 3, "mix": "2080"}
Row = tuple[Any, ...]


class Model:
    """The four tables as dictionaries by key, and what each transaction answers and does."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        def rows(query: str) -> list[Row]:
            return connection.execute(query).fetchall()

        self.subscriber = {row[0]: list(row) for row in rows(f"SELECT {', '.join(SUBSCRIBER_COLUMNS)} FROM subscriber")}
        self.id_of = {row[1]: s_id for s_id, row in self.subscriber.items()}
        self.access = {(s, t): rest for s, t, *rest in rows("SELECT * FROM access_info")}
        self.facility = {(s, t): list(rest) for s, t, *rest in rows("SELECT * FROM special_facility")}
        self.forwarding = {(s, t, st): tuple(rest) for s, t, st, *rest in rows("SELECT * FROM call_forwarding")}

    def get_subscriber_data(self, s_id: int) -> list[Row]:
        return [tuple(self.subscriber[s_id])]

    def get_new_destination(self, s_id: int, sf_type: int, start_time: int, end_time: int) -> list[Row]:
        if self.facility.get((s_id, sf_type), [0])[0] != 1:
            return []
        started = [self.forwarding.get((s_id, sf_type, start)) for start in (0, 8, 16) if start <= start_time]
        return [(numberx,) for end, numberx in filter(None, started) if end_time < end]

    def get_access_data(self, s_id: int, ai_type: int) -> list[Row]:
        return [tuple(self.access[s_id, ai_type])] if (s_id, ai_type) in self.access else []

    def update_subscriber_data(self, s_id: int, sf_type: int, bit: int, data_a: int) -> bool:
        if (s_id, sf_type) not in self.facility:
            return False
        self.subscriber[s_id][SUBSCRIBER_COLUMNS.index("bit_1")] = bit
        self.facility[s_id, sf_type][2] = data_a
        return True

    def update_location(self, s_id: int, vlr_location: int) -> bool:
        self.subscriber[self.id_of[f"{s_id:015}"]][-1] = vlr_location
        return True

    def insert_call_forwarding(self, s_id: int, sf_type: int, start_time: int, end_time: int, numberx: int) -> bool:
        s_id = self.id_of[f"{s_id:015}"]
        if (s_id, sf_type) not in self.facility or (s_id, sf_type, start_time) in self.forwarding:
            return False
        self.forwarding[s_id, sf_type, start_time] = (end_time, f"{numberx:015}")
        return True

    def delete_call_forwarding(self, s_id: int, sf_type: int, start_time: int) -> bool:
        return self.forwarding.pop((self.id_of[f"{s_id:015}"], sf_type, start_time), None) is not None


def drawn(chance: random.Random, parameters: Parameters, name: str) -> dict[str, int]:
    n = parameters.subscribers
    key = (chance.randint(0, parameters.or_mask) | chance.randint(1, n)) % n + 1
    values: dict[str, Callable[[], int]] = {
        "sf_type": lambda: chance.randint(1, 4),
        "ai_type": lambda: chance.randint(1, 4),
        "start_time": lambda: chance.choice((0, 8, 16)),
        "end_time": lambda: chance.randint(1, 24),
        "bit": lambda: chance.randint(0, 1),
        "data_a": lambda: chance.randint(0, 255),
        "vlr_location": lambda: chance.randint(1, 2**31 - 1),
        "numberx": lambda: chance.randint(0, 10**15 - 1),
    }
    code = getattr(Model, name.lower()).__code__
    variable_names = code.co_varnames[1 : code.co_argcount]
    return {variable: key if variable == "s_id" else values[variable]() for variable in variable_names}


def executed(connection: psycopg.Connection[Row], name: str, values: dict[str, int]) -> list[Row] | bool:
    """Do what a script does: a write that tells no success is rolled back."""
    parameters: dict[str, Any] = dict(values)
    answer: list[Row] = []
    with connection.transaction() as transaction:
        for statement in SQL[name]:
            cursor = connection.execute(re.sub(r"(?<!:):(\w+)", r"%(\1)s", statement), parameters)
            answer = cursor.fetchall() if cursor.description else []
            if statement.startswith("SELECT s_id FROM subscriber"):
                parameters["s_id"] = answer[0][0]
        if "RETURNING" in statement and not answer:
            raise psycopg.Rollback(transaction)
    return answer if name.startswith("GET") else bool(answer) or name == "UPDATE_LOCATION"


@pytest.mark.whole
def test_the_database_and_the_model_agree_after_thousands_of_transactions(cluster16: Cluster, tmp_path: Path) -> None:
    assert load(cluster16, tmp_path / "load", spec_of(cluster16, parameters=PARAMETERS)).outcome == "succeeded"
    parameters, chance = read(PARAMETERS), random.Random(20_000)
    succeeded: Counter[str] = Counter()
    with psycopg.connect(cluster16.url, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")
        model = Model(connection)
        before = len(model.forwarding)
        for name in chance.choices(TRANSACTIONS, parameters.weighed, k=NUMBER):
            values = drawn(chance, parameters, name)
            expected = getattr(model, name.lower())(**values)
            answer = executed(connection, name, values)
            assert (sorted(answer) if isinstance(answer, list) else answer) == (
                sorted(expected) if isinstance(expected, list) else expected
            ), (name, values)
            succeeded[name] += bool(answer)
        after = Model(connection)
    assert (after.subscriber, after.access) == (model.subscriber, model.access)
    assert (after.facility, after.forwarding) == (model.facility, model.forwarding)
    assert set(succeeded) == set(TRANSACTIONS)
    assert len(after.forwarding) - before == succeeded["INSERT_CALL_FORWARDING"] - succeeded["DELETE_CALL_FORWARDING"]
