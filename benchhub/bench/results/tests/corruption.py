"""A change of one thing in what a run left, and by what it is caught."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from benchhub.bench.results.tests.recordings import added_codes, run_of
from runners.contract import Outputs

Change = Callable[[Outputs], Outputs]
FAILED = "no result"


@dataclass(frozen=True)
class Corruption:
    """What was changed in which recording, and the code by which it is caught; else `undetectable` says why not."""

    run: str
    title: str
    change: Change
    code: str = ""
    undetectable: str = ""


def printed(old: str, new: str) -> Change:
    """Change one place of what was printed."""

    def change(outputs: Outputs) -> Outputs:
        text, count = re.subn(old, new, outputs.stdout.decode(), count=1, flags=re.MULTILINE)
        assert count == 1, f"{old} is not in the recording"
        return replace(outputs, stdout=text.encode())

    return change


def progress(old: str, new: str, count: int = 0) -> Change:
    def change(outputs: Outputs) -> Outputs:
        text = re.sub(old, new, outputs.stderr.decode(), count=count, flags=re.MULTILINE)
        assert text != outputs.stderr.decode(), f"{old} is not in the recording"
        return replace(outputs, stderr=text.encode())

    return change


def file(name: str, old: bytes, new: bytes) -> Change:
    def change(outputs: Outputs) -> Outputs:
        content = outputs.files[name].replace(old, new, 1)
        assert content != outputs.files[name]
        return replace(outputs, files={**outputs.files, name: content})

    return change


def without_log(change: Change) -> Change:
    """Take the log away as well: where it is, its histogram catches more."""
    return lambda outputs: replace(change(outputs), files={})


def multiplied(*pairs: tuple[str, float]) -> Change:
    """Multiply the number that stands after each of these, with as many decimals as it has."""

    def change(outputs: Outputs) -> Outputs:
        for before, factor in pairs:
            match = re.search(rf"(?m)^{before}([0-9]+)(?:\.([0-9]+))?", outputs.stdout.decode())
            assert match, f"{before} is not in the recording"
            number = float(match[0].removeprefix(before)) * factor
            outputs = printed(re.escape(match[0]), f"{before}{number:.{len(match[2] or '')}f}")(outputs)
        return outputs

    return change


def bare(change: Change) -> Change:
    """Take all away but what was printed on standard output."""
    return lambda outputs: replace(change(outputs), stderr=b"", files={})


def assert_caught(corruption: Corruption) -> None:
    """Check that the corruption of its recorded run shows by its code or leaves no result, or that nothing shows it."""
    assert bool(corruption.code) != bool(corruption.undetectable)
    added = added_codes(*run_of(corruption.run), corruption.change)
    assert (added == {FAILED} or corruption.code in added) if corruption.code else not added
