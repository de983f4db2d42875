"""Answers that are cut after each of their bytes: no part is ever taken for the whole, and no cut file for a file."""

import hashlib
import json

import pytest

from runners import tools
from runners.collection import Collected, parse_collected
from runners.frame import begin_mark, end_mark
from runners.ssh import RemoteFailure, Target, _unframed

TARGET = Target("127.0.0.1", 22, "bench", "", "")
FILES = {"out.log": b"tps = 117.3\n" * 4, "err.log": b"progress: 1.0 s\n", "step": b"measure 12.5\nafter 14.1\n"}
NONCE, CAP_BYTES = "0123456789abcdef", 1 << 20


def collection() -> bytes:
    """Return what collect.sh sends of an attempt that ended with 0."""
    entries = [
        {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in FILES.items()
    ]
    manifest = json.dumps({"version": 1, "returncode": 0, "free_bytes": 1 << 30, "files": entries}).encode()
    parts = [b"file %b %d\n%b" % (name.encode(), len(content), content) for name, content in FILES.items()]
    return b"0 %d\n" % len(manifest) + manifest + b"".join(parts)


@pytest.mark.parametrize("code", [0, 127])
def test_an_answer_cut_after_any_byte_fails_and_one_that_is_whole_is_returned_as_it_was(code):
    payload = collection()
    answer = b"Last login: today\n" + begin_mark(NONCE) + payload + end_mark(NONCE) + b"%d\n" % code
    for length in range(len(answer)):
        with pytest.raises(RemoteFailure) as failure:
            _unframed(TARGET, NONCE, answer[:length], b"")
        assert failure.value.returncode is None  # which would tell that the command had ended
    if code == 0:
        assert _unframed(TARGET, NONCE, answer, b"") == payload


def test_no_file_of_a_collection_that_is_cut_after_any_byte_is_taken_for_a_whole_one():
    payload = collection()
    whole = parse_collected(payload, CAP_BYTES)
    assert (files_of(whole), whole.remarks) == (FILES, {})
    counts = set()
    for length in range(len(payload)):
        try:
            collected = parse_collected(payload[:length], CAP_BYTES)
        except tools.UNREADABLE:
            continue
        files = files_of(collected)
        assert files.items() <= FILES.items()
        missing = FILES.keys() - files.keys()
        assert missing and (missing <= collected.remarks.keys() or "manifest.json" in collected.remarks)
        counts.add(len(files))
    assert counts == {0, 1, 2}


def files_of(collected: Collected) -> dict[str, bytes]:
    """Return the files of a collection; of the logs, which may be left out as well, those with anything in them."""
    outputs = collected.outputs
    logs = {"out.log": outputs.stdout, "err.log": outputs.stderr}
    return {**{name: content for name, content in logs.items() if content}, **outputs.files}
