from decimal import Decimal

import pytest

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.canonical import SnapshotError


def test_the_bytes_do_not_depend_on_the_order_of_keys_and_amounts_are_text():
    document = {"b": Decimal("12.50"), "a": ["é", 1.5, None, True]}
    assert canonical.to_bytes(document) == '{"a":["é",1.5,null,true],"b":"12.50"}'.encode()
    assert canonical.to_bytes(dict(reversed(document.items()))) == canonical.to_bytes(document)


def test_the_digest_is_that_of_the_bytes():
    # printf '{}' | sha256sum
    assert canonical.digest(b"{}") == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_a_golden_document_keeps_its_digest():
    golden = {"format": canonical.FORMAT, "version": 1, "price": Decimal("1E+2"), "y": 0.1}
    assert canonical.to_bytes(golden) == b'{"format":"benchhub.snapshot","price":"100","version":1,"y":0.1}'


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_has_no_bytes(value):
    with pytest.raises(SnapshotError, match="has no text"):
        canonical.to_bytes({"y": value})


def test_what_has_no_canonical_form_is_refused():
    with pytest.raises(TypeError, match="write it as text"):
        canonical.to_bytes({"y": {1, 2}})


def test_what_was_written_is_read_back():
    document = {"format": canonical.FORMAT, "version": 1, "title": "x"}
    assert canonical.from_bytes(canonical.to_bytes(document)) == document


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"nothing", "no JSON"),
        (b"[]", "no snapshot"),
        (b'{"format":"other","version":1}', "no snapshot"),
        (b'{"format":"benchhub.snapshot","version":2}', "version 2; this release reads 1 to 1"),
        (b'{"format":"benchhub.snapshot","version":"1"}', "version 1; this"),
    ],
)
def test_other_bytes_are_refused_with_a_sentence(content, sentence):
    with pytest.raises(SnapshotError, match=sentence):
        canonical.from_bytes(content)
