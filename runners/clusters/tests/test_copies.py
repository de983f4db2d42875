"""Data sets restored by copying the files of a stopped cluster: on real parts, and broken off at any moment."""

from __future__ import annotations

import random
import subprocess

import pytest

from runners import tools
from runners.clusters.script import functions
from runners.clusters.testing import broken_off
from runners.clusters.visit import visit
from runners.contract import FINGERPRINT_FAILED, DataCopy
from runners.script import FINGERPRINT_FILE
from runners.tests.patience import LOAD_S

pytestmark = pytest.mark.target
KEY, OTHER = "a" * 32, "b" * 32
KEPT, RESTORED = DataCopy(KEY, keeps=True), DataCopy(KEY, restores=True, keeps=True)
WRITES = {"script": "custom", "scale": 1, "scripts": [{"text": "UPDATE pgbench_accounts SET abalance = 7;"}]}


async def loaded(driver, copy, **changes):
    spec = await driver.spec(kind="load", copy=copy, **changes)
    outputs = (await driver.run(spec)).outputs
    assert outputs.returncode == 0, outputs.stderr
    assert driver.servers == []
    return outputs


def noted(outputs) -> dict[str, float]:
    lines = outputs.files.get("copy.txt", b"").decode().splitlines()
    return {name: float(value) for name, value in map(str.split, lines)}


def copies(driver) -> list[str]:
    return sorted(path.name for path in (driver.folder / "copies").glob("*"))


async def test_where_the_copy_is_gone_a_load_makes_it_anew_and_the_next_restores_it_with_the_settings_of_now(driver):
    first = await loaded(driver, RESTORED)
    assert first.files["copy.refused"].decode() == "The copy was not there any more.\n"
    assert {"copied_s", "loaded_s", "kilobytes"} <= noted(first).keys()
    assert noted(first)["kilobytes"] > 15_000 and "restored_s" not in noted(first)
    assert copies(driver) == [KEY]
    await driver.run(await driver.spec(duration_s=1, parameters=WRITES))

    spec = await driver.spec({"work_mem": "8MB"}, {"work_mem": "8192"}, kind="load", copy=RESTORED)
    second = (await driver.run(spec)).outputs
    assert second.returncode == 0, second.stderr
    assert {"restored_s"} <= noted(second).keys() and "copied_s" not in noted(second)
    assert second.files[FINGERPRINT_FILE] == first.files[FINGERPRINT_FILE]
    assert b"restored from a copy" in second.stderr and b"creating tables" not in second.stderr
    spec = await driver.spec(duration_s=LOAD_S)
    measured = (await driver.run(spec)).outputs
    assert tools.get("pgbench").parse(spec, measured).outcome == "succeeded"
    assert int(measured.files["age.txt"]) > 0
    assert copies(driver) == [KEY]  # a run writes into its own files alone
    assert not (driver.folder / "data.making").exists()


@pytest.mark.whole
async def test_a_copy_that_nobody_takes_any_more_is_removed_by_the_load(driver):
    await loaded(driver, KEPT)
    await loaded(driver, DataCopy(KEY))
    assert copies(driver) == []


async def test_a_copy_with_other_data_fails_the_load_and_is_never_used_again(driver):
    await loaded(driver, KEPT)
    (driver.folder / "copies" / KEY / "fingerprint").write_text("of something else\n")
    outputs = (await driver.run(await driver.spec(kind="load", copy=RESTORED))).outputs
    assert outputs.returncode == FINGERPRINT_FAILED
    assert b"another checksum than the data set had when it was copied. It is removed" in outputs.stderr
    assert copies(driver) == []


async def test_no_copy_is_kept_of_a_data_directory_that_leads_elsewhere(driver, tmp_path):
    await loaded(driver, None)
    (driver.folder / "data" / "elsewhere").symlink_to(tmp_path)
    outputs = await loaded(driver, KEPT)
    assert b"leads out of the data directory" in outputs.files["copy.refused"]
    assert copies(driver) == []


@pytest.mark.whole
async def test_a_few_copies_are_kept_and_the_one_used_longest_ago_goes_first(driver):
    await loaded(driver, KEPT)
    folder = driver.folder / "copies"
    for number in range(3):
        (folder / f"{number}" / "data").mkdir(parents=True)
    outputs = await loaded(driver, DataCopy(OTHER, keeps=True))
    assert copies(driver) == ["0", "1", "2", OTHER]
    assert outputs.files["copies.txt"].decode().split() == ["0", "1", "2", OTHER]


@pytest.mark.parametrize(("held_kb", "left"), [(1500, []), (900, ["0", "1"])])
def test_without_room_older_copies_go_unless_they_would_go_in_vain(tmp_path, held_kb, left):
    for number in range(2):
        (tmp_path / "copies" / f"{number}" / "data").mkdir(parents=True)
    stands_in = f"copy_free_kb() {{ echo 1000; }}\ncopy_kb() {{ echo {held_kb}; }}"
    script = f"cluster={tmp_path}\n{functions()}\n{stands_in}\ncopies_make_room 2000 || exit 3"
    assert subprocess.run(["sh", "-c", script], cwd=tmp_path).returncode == 3
    sentence = "No copy was kept: it needs 2000 kB of disk, and 1000 kB are free.\n"
    assert (tmp_path / "copy.refused").read_text() == sentence
    assert sorted(copy.name for copy in (tmp_path / "copies").iterdir()) == left
    assert subprocess.run(["sh", "-c", script.replace("2000", "900")], cwd=tmp_path).returncode == 0


@pytest.mark.whole
async def test_visits_tell_of_copies_and_discard_them(driver):
    await loaded(driver, KEPT)
    place = (driver.connections, driver.target, driver.cluster, driver.work)
    assert list((await visit(*place, "look", 5432)).copies) == [KEY]
    sight = await visit(*place, "discard", 5432)
    assert (sight.copies, sight.is_there) == ({}, True)


@pytest.mark.whole
@pytest.mark.parametrize("kind", ["everything", "server", "cancel"])
async def test_half_a_copy_is_never_used_whatever_is_killed_in_its_midst(driver, kind):
    draw = random.Random(kind)
    checksum = (await loaded(driver, KEPT)).files[FINGERPRINT_FILE]
    for copy in (RESTORED, KEPT):
        await broken_off(driver, kind, await driver.spec(kind="load", copy=copy), draw.uniform(0.1, 2.0))
        await driver.until(lambda: driver.servers == [])
        outputs = await loaded(driver, RESTORED)
        assert outputs.files[FINGERPRINT_FILE] == checksum
        assert copies(driver) == [KEY] and not (driver.folder / "data.making").exists()
