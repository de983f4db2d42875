"""What hosts answer to a visit, also those that lie."""

import json

import pytest

from runners.clusters.visit import MOST_LIBRARIES, read_sight
from runners.server_settings.parameters import LONGEST_NAME, MOST_PARAMETERS
from runners.tools.base import UNREADABLE

FOLDER = "clusters/own-1a2b3c"
PLACE = f"/home/bench/benchhub/{FOLDER}"


def sight(**sections):
    return read_sight({"folder": PLACE, **sections}, FOLDER)


def test_a_relative_folder_lies_where_the_host_says_and_an_absolute_one_where_it_was_asked_for():
    assert sight().folder == PLACE
    assert read_sight({"folder": "/data/own"}, "/data/own").folder == "/data/own"


@pytest.mark.parametrize(
    ("answer", "folder"),
    [
        ("/data/other", "/data/own"),
        ("/data/own", FOLDER),
        (FOLDER, FOLDER),
        ("", FOLDER),
        (f"/{'x' * 300}/{FOLDER}", FOLDER),
        (f"/home\n/{FOLDER}", FOLDER),
        (f"/home\x7f/{FOLDER}", FOLDER),
    ],
)
def test_a_host_moves_no_cluster_to_another_folder_nor_to_one_that_cannot_be_stored(answer, folder):
    with pytest.raises(ValueError, match="is not where the cluster was to lie"):
        read_sight({"folder": answer}, folder)


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "[]",
        "[" * 100_000,
        json.dumps({"fsync": None}),
        json.dumps({"fsync": {"kind": "bool"}}),
        json.dumps({f"name_{number}": {} for number in range(MOST_PARAMETERS + 1)}),
        "1" * 10_000,
    ],
)
def test_settings_that_make_no_sense_are_unreadable_and_nothing_worse(text):
    with pytest.raises(UNREADABLE):
        sight(parameters=text)


def test_names_and_libraries_of_a_host_are_names_and_bounded():
    row = {"kind": "string", "unit": None, "context": {"a": [1]}, "lowest": 1e400, "highest": "", "default": "x\0y"}
    row["choices"] = ["y" * 1000]
    read = sight(
        parameters=json.dumps({"fsync": row, "a b": row, "x\n": row}),
        libraries=" ".join(["../evil", "$(id)", "plpgsql", *(f"l{number}" for number in range(MOST_LIBRARIES * 2))]),
        kilobytes="9" * 40,
        settings='{"name": ["x"], "setting": null, "unit": 3}',
    )
    assert list(read.parameters) == ["fsync"]
    assert read.parameters["fsync"]["choices"] == ["y" * LONGEST_NAME]
    assert "\0" not in read.parameters["fsync"]["default"]
    assert "plpgsql" in read.libraries and not {"../evil", "$(id)"} & set(read.libraries)
    assert len(read.libraries) <= MOST_LIBRARIES
    assert read.size_bytes is None
