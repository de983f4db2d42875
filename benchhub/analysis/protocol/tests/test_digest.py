import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.protocol import digest

PROTOCOL = {
    "tool": "pgbench",
    "parameters": {"script": "select-only", "query_mode": "simple", "scale": 10},
    "data_set": {"tool": "pgbench", "scale": 10},
    "client": "pgbench 18.4",
    "duration_s": 3,
    "warmup_s": 0,
    "vacuum": False,
    "checkpoint": False,
    "thread_rule": "clients",
    "path": "loopback",
    "durability": {},
}


def test_the_golden_protocol_keeps_its_form_and_digest_for_ever():
    form = digest.protocol_form(PROTOCOL)
    assert digest.canonical(form) == (
        '{"client":"pgbench 18.4","data_set":{"scale":10,"tool":"pgbench"},"duration_s":3,"kind":"protocol",'
        '"parameters":{"query_mode":"simple","scale":10,"script":"select-only"},"path":"loopback",'
        '"tool":"pgbench","version":1}'
    )
    assert digest.digest(form) == "b886bd523bdb61d385ca2ded083eaf623f8a320038551e35911512a36a022d42"


def test_a_default_that_is_written_out_makes_the_same_protocol_as_one_left_out():
    bare = {k: v for k, v in PROTOCOL.items() if k not in digest.PROTOCOL_DEFAULTS}
    assert digest.protocol_form(bare) == digest.protocol_form(PROTOCOL)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("duration_s", 300),
        ("client", "pgbench 16.14"),
        ("path", "network"),
        ("thread_rule", "clients/2"),
        ("durability", {"fsync": "off"}),
        ("warmup_s", 60),
        ("data_set", {"tool": "pgbench", "scale": 100}),
    ],
)
def test_another_protocol_has_another_digest_and_the_field_is_named(field, value):
    form, other_form = digest.protocol_form(PROTOCOL), digest.protocol_form({**PROTOCOL, field: value})
    assert digest.digest(form) != digest.digest(other_form)
    assert digest.differing_fields(form, other_form) == [field]


def test_a_float_is_refused_because_its_text_is_not_one():
    with pytest.raises(TypeError, match=r"0\.1"):
        digest.canonical({"parameters": {"rate": 0.1}})


def test_relaxed_durability_names_only_what_differs_from_the_default():
    assert digest.durability({"fsync": "on"}, volatile_storage=False) == {}
    assert digest.durability({"synchronous_commit": "off"}, volatile_storage=False) == {"synchronous_commit": "off"}
    assert digest.durability({}, volatile_storage=True) == {"storage": "volatile"}


def test_two_ways_to_write_the_same_durability_are_one():
    written = {"fsync": "True", "synchronous_commit": "ON", "full_page_writes": "1"}
    assert digest.durability(written, volatile_storage=False) == {}
    assert digest.durability({"fsync": "false"}, volatile_storage=False) == {"fsync": "off"}
    assert digest.durability({"synchronous_commit": "Remote_Apply"}, volatile_storage=False) == {
        "synchronous_commit": "remote_apply"
    }


def test_an_empty_entry_does_not_split_the_history_of_a_system():
    assert digest.system_form({"instance": "a", "driver": ""}) == digest.system_form({"instance": "a"})


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), plain, max_size=5))
def test_order_of_keys_never_changes_a_digest_and_the_form_reads_back(value):
    backwards = dict(reversed(list(value.items())))
    assert digest.digest(value) == digest.digest(backwards)
    assert json.loads(digest.canonical(value)) == value


def test_facts_may_hold_a_float_and_keep_their_digest_when_it_is_the_same():
    form = digest.facts_form({"hosts": [{"max_mhz": 3425.0}]})
    assert digest.canonical(form) == '{"hosts":[{"max_mhz":"3425.0"}],"kind":"facts","version":1}'
