"""Copies of data sets on clusters of BenchHub's own: their names, whether a load takes one, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchhub.analysis.protocol import digest
from benchhub.analysis.words import count, short_time, word
from benchhub.catalog.models import Cluster, Configuration, DataCopy
from runners import contract
from runners.contract import Outputs
from runners.tools.printed import text_of

RESTORED = "Restored from a copy"
TIMES_FILE, REFUSED_FILE, KEYS_FILE = "copy.txt", "copy.refused", "copies.txt"
# A host may leave 64 MiB of each, and they are read while the run's row is locked.
MOST_TIMES_BYTES, MOST_REFUSED_BYTES, MOST_KEYS_BYTES = 1000, 2000, 10_000
KEY_LENGTH, LONGEST_REASON = 32, 500
LARGEST = 1e13
# The settings by which a load leaves other files than another one of the same data set.
SHAPING = (
    "default_statistics_target",
    "default_table_access_method",
    "default_tablespace",
    "default_toast_compression",
)


def key(cluster: Cluster, configuration: Configuration, recipe: Mapping[str, Any]) -> str:
    """Return the name of the copy of a data set as this build loads it under this configuration."""
    settings = {name.lower(): str(value) for name, value in configuration.settings.items() if name.lower() in SHAPING}
    form = {"recipe": dict(recipe), "build": cluster.instance.build.binary_digest, "settings": settings}
    return digest.digest(form)[:KEY_LENGTH]


def decided(planned: contract.DataCopy, row: DataCopy | None) -> contract.DataCopy:
    """Return what a load that starts now does, by the times of the last one: restores, keeps, or neither."""
    if row is None:
        return planned
    is_faster = row.times.is_copy_faster
    return replace(planned, restores=is_faster and row.is_there, keeps=is_faster and planned.keeps)


def note(cluster: Cluster, copy: contract.DataCopy, recipe: Mapping[str, Any], outputs: Outputs) -> str:
    """Store what a load says of its copy and of others; return it as sentences, empty where it had to do with none."""
    return " ".join(filter(None, [_note_own(cluster, copy, recipe, outputs), _note_removed(cluster, outputs)]))


def _note_own(cluster: Cluster, copy: contract.DataCopy, recipe: Mapping[str, Any], outputs: Outputs) -> str:
    times = read_times(outputs)
    reason = text_of(outputs.files.get(REFUSED_FILE, b"")[:MOST_REFUSED_BYTES]).strip()[:LONGEST_REASON]
    rows = DataCopy.objects.filter(cluster=cluster, key=copy.key)
    is_shared = {"shares_blocks": "shared" in times}
    if "restored_s" in times:
        rows.update(restored_s=times["restored_s"], is_there=True, **is_shared)
        row = rows.first()
        return _restored(times, row.loaded_s if row else None)
    if {"copied_s", "loaded_s", "kilobytes"} <= times.keys():
        values: dict[str, Any] = {
            "copied_s": times["copied_s"],
            "loaded_s": times["loaded_s"],
            "restored_s": None,
            "is_there": True,
        }
        values |= {"size_bytes": int(times["kilobytes"]) * 1024, "recipe": dict(recipe), **is_shared}
        row, _ = DataCopy.objects.update_or_create(cluster=cluster, key=copy.key, defaults=values)
        return _kept(row)
    rows.update(is_there=False)
    return reason


def _note_removed(cluster: Cluster, outputs: Outputs) -> str:
    """Store which other copies are gone since; where nothing lists them, nothing is known of any."""
    if KEYS_FILE not in outputs.files:
        return ""
    keys = text_of(outputs.files[KEYS_FILE][:MOST_KEYS_BYTES]).split()
    removed = DataCopy.objects.filter(cluster=cluster, is_there=True).exclude(key__in=keys).update(is_there=False)
    gone = f"{count(removed, 'other copy', 'other copies')} {word('is', removed, 'are')} gone"
    return f"{gone}: a load removes those used longest ago where it needs their room." if removed else ""


def _restored(times: Mapping[str, float], loaded_s: float | None) -> str:
    loading = "" if loaded_s is None else f"; loading took {short_time(loaded_s)}"
    shared = " Its blocks are shared with the copy until they are written, and the first write to each costs more."
    return f"{RESTORED} in {short_time(times['restored_s'])}{loading}.{shared if 'shared' in times else ''}"


def _kept(row: DataCopy) -> str:
    loaded, copied = short_time(row.loaded_s), short_time(row.copied_s)
    later = "restored from it" if row.times.is_copy_faster else "loaded all the same"
    return f"Loaded in {loaded}, and copied in {copied}: from now on these data are {later}."


def read_times(outputs: Outputs) -> dict[str, float]:
    """Return the numbers that a load wrote down of its copy; those that make no sense are left out."""
    lines = text_of(outputs.files.get(TIMES_FILE, b"")[:MOST_TIMES_BYTES]).splitlines()
    pairs = [line.split(" ") for line in lines]
    numbers = {words[0]: _number(words[1]) for words in pairs if len(words) == 2}
    return {name: value for name, value in numbers.items() if value is not None}


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value < LARGEST else None
