"""How many licences: each parameter by hand. The comment of a row is its arithmetic."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.pricing.licences.rules import LicenceRules
from benchhub.analysis.pricing.licences.rules_form import rules_from
from benchhub.analysis.pricing.licences.units import NotEligible, count_licences
from benchhub.analysis.pricing.money import PricingError
from benchhub.analysis.pricing.topology import Deployment, Machine, Node, VirtualMachine

DAY = date(2026, 1, 1)
S822L = Machine("S822L", 2, 10, threads_per_core=8, memory_gb=Decimal(256), processor="POWER8")
X86 = Machine("x86", 4, 15, threads_per_core=2, memory_gb=Decimal(256), processor="Xeon")
SMALL = Machine("small", 1, 2, memory_gb=Decimal(8), processor="Xeon")
# 2 sockets of 16 cores, 4 of each disabled in firmware.
CUT = Machine("cut", 2, 16, threads_per_core=2, memory_gb=Decimal(100), processor="Xeon", disabled_cores_per_socket=4)
VM_ON = Machine("vm", 2, 10, 2, Decimal(256), "Xeon", vm=VirtualMachine(7, Decimal(24)))
VM_OFF = Machine("vm", 2, 10, 2, Decimal(256), "Xeon", vm=VirtualMachine(7, Decimal(24), smt=False))
# Sockets of 16 and 8 cores, 4 of each disabled in firmware.
UNLIKE = Machine("unlike", 2, 16, 2, Decimal(64), "Xeon", 4, unlike_cores=(16, 8))
THREE_UNLIKE = Machine("three unlike", 3, 16, unlike_cores=(8, 16, 4))
VM_WIDE = Machine("wide", 2, 10, 2, Decimal(256), "Xeon", 2, vm=VirtualMachine(40, Decimal(24)))
HALF = [{"processor": "Xeon", "factor": "0.5"}, {"processor": "POWER8", "factor": "1.0"}]


def counted(machine, /, quantity=1, users=None, **rules):
    """`machine` is one, or the nodes of a deployment."""
    nodes = machine if isinstance(machine, tuple) else (Node(machine, quantity),)
    return count_licences("it", rules_from(rules), Deployment(nodes, users), DAY)


@pytest.mark.parametrize(
    ("machine", "rules", "units"),
    [
        # Metrics
        (X86, {"metric": "none"}, 0),
        (X86, {"metric": "server"}, 1),
        (S822L, {"metric": "socket"}, 2),  # as bought, although the virtual machine of report A shows 4
        (S822L, {"metric": "core"}, 20),  # 2 x 10
        (X86, {"metric": "core"}, 60),  # 4 x 15
        (X86, {"metric": "vcpu"}, 120),  # 4 x 15 x 2 threads, without a virtual machine
        (VM_ON, {"metric": "vcpu"}, 7),  # of the virtual machine
        (VM_ON, {"metric": "core"}, 20),  # what was bought: the virtual machine does not matter
        (X86, {"metric": "memory"}, 256),  # 256 GB / 1 GB
        (X86, {"metric": "flat"}, 1),
        # The smaller of a virtual machine's vCPUs and its host's cores
        (VM_ON, {"metric": "vm_core"}, 7),  # 7 vCPUs on 2 x 10 cores
        (VM_WIDE, {"metric": "vm_core"}, 20),  # 40 vCPUs on 2 x 10 cores
        (VM_WIDE, {"metric": "vm_core", "counts_disabled_cores": False}, 16),  # on 2 x (10 - 2)
        (X86, {"metric": "vm_core"}, 60),  # without a virtual machine 4 x 15
        (VM_ON, {"metric": "vm_core", "minimum_per_vm": 8}, 8),  # max(7, 8)
        (VM_WIDE, {"metric": "vm_core", "factors": HALF}, 10),  # 20 x 0.5
        (VM_ON, {"metric": "vm_core", "pack": 2}, 8),  # ceil(7 / 2) x 2
        # Sockets with unlike cores
        (UNLIKE, {"metric": "core"}, 24),  # 16 + 8
        (UNLIKE, {"metric": "core", "counts_disabled_cores": False}, 16),  # 12 + 4
        (UNLIKE, {"metric": "core", "minimum_per_socket": 10}, 26),  # 16 + max(8, 10)
        (UNLIKE, {"metric": "core", "maximum_per_socket": 12}, 20),  # min(16, 12) + 8
        (UNLIKE, {"metric": "core", "minimum_per_socket": 10, "maximum_per_socket": 12}, 22),  # 12 + 10
        (UNLIKE, {"metric": "core", "factors": HALF}, 12),  # 24 x 0.5
        (UNLIKE, {"metric": "socket"}, 2),
        (UNLIKE, {"metric": "socket", "cores_per_licence": 8}, 3),  # 16 / 8 + 8 / 8
        (UNLIKE, {"metric": "vcpu"}, 32),  # (12 + 4) x 2
        (UNLIKE, {"metric": "vm_core"}, 24),
        # Pairs of the largest first: ceil(16 / 8) for 16 and 8, ceil(4 / 8) for 4
        (THREE_UNLIKE, {"metric": "socket", "sockets_per_licence": 2, "cores_per_licence": 8}, 3),
        # Cores disabled in firmware
        (CUT, {"metric": "core"}, 32),  # 2 x 16
        (CUT, {"metric": "core", "counts_disabled_cores": False}, 24),  # 2 x (16 - 4)
        (CUT, {"metric": "vcpu"}, 48),  # 2 x (16 - 4) x 2: a disabled core has no thread
        # Cores that a socket's licence covers
        (X86, {"metric": "socket", "cores_per_licence": 32}, 4),  # 4 x ceil(15 / 32) = 4 x 1
        (X86, {"metric": "socket", "cores_per_licence": 8}, 8),  # 4 x ceil(15 / 8) = 4 x 2
        (CUT, {"metric": "socket", "cores_per_licence": 12}, 4),  # 2 x ceil(16 / 12) = 2 x 2
        (CUT, {"metric": "socket", "cores_per_licence": 12, "counts_disabled_cores": False}, 2),  # 2 x ceil(12 / 12)
        # Socket groups
        (X86, {"metric": "socket", "sockets_per_licence": 2}, 2),  # 4 / 2
        (SMALL, {"metric": "socket", "sockets_per_licence": 2}, 1),  # ceil(1 / 2)
        (Machine("three", 3, 8), {"metric": "socket", "sockets_per_licence": 2}, 2),  # ceil(3 / 2)
        (X86, {"metric": "socket", "sockets_per_licence": 2, "cores_per_licence": 8}, 4),  # 2 pairs x ceil(15 / 8)
        # Minimum per socket
        (SMALL, {"metric": "core", "minimum_per_socket": 4}, 4),  # 1 x max(2, 4)
        (Machine("two", 2, 2), {"metric": "core", "minimum_per_socket": 4}, 8),  # 2 x max(2, 4), not max(4, 4)
        (S822L, {"metric": "core", "minimum_per_socket": 4}, 20),  # 2 x max(10, 4)
        (S822L, {"metric": "socket", "minimum_per_socket": 2}, 4),  # 2 x max(1, 2)
        # Minimum per server, per virtual machine, per order
        (SMALL, {"metric": "core", "minimum_per_server": 16}, 16),  # max(2, 16)
        (X86, {"metric": "core", "minimum_per_server": 16}, 60),  # max(60, 16)
        (SMALL, {"metric": "core", "minimum_per_socket": 8, "minimum_per_server": 16}, 16),  # 1 x 8, then 16
        (VM_ON, {"metric": "vcpu", "minimum_per_vm": 8}, 8),  # max(7, 8)
        (SMALL, {"metric": "vcpu", "minimum_per_vm": 8}, 2),  # there is no virtual machine
        (S822L, {"metric": "core", "minimum_per_order": 72}, 72),  # max(20, 72)
        # Maximum per socket, per server, per order
        (X86, {"metric": "core", "maximum_per_socket": 8}, 32),  # 4 x min(15, 8)
        (SMALL, {"metric": "core", "minimum_per_socket": 4, "maximum_per_socket": 4}, 4),  # 1 x max(2, 4)
        (X86, {"metric": "socket", "cores_per_licence": 8, "maximum_per_socket": 1}, 4),  # 4 x min(ceil(15 / 8), 1)
        (X86, {"metric": "core", "maximum_per_server": 24}, 24),  # min(60, 24)
        (X86, {"metric": "core", "factors": HALF, "maximum_per_server": 40}, 30),  # 60 x 0.5 comes before min(30, 40)
        (X86, {"metric": "core", "maximum_per_server": 20, "pack": 8}, 24),  # min(60, 20) = 20, ceil(20 / 8) x 8
        (X86, {"metric": "core", "maximum_per_order": 50}, 50),  # min(60, 50)
        # Core factor, rounded up after summing
        (X86, {"metric": "core", "factors": HALF}, 30),  # 60 x 0.5
        (S822L, {"metric": "core", "factors": HALF}, 20),  # 20 x 1.0
        (Machine("odd", 3, 3, processor="Xeon"), {"metric": "core", "factors": HALF}, 5),  # 9 x 0.5 = 4.5; not 3 x 2
        (SMALL, {"metric": "core", "minimum_per_socket": 4, "factors": HALF}, 2),  # 4 x 0.5: the minimum comes first
        (SMALL, {"metric": "core", "minimum_per_server": 4, "factors": HALF}, 4),  # 2 x 0.5 = 1, then max(1, 4)
        (S822L, {"metric": "core", "factors": [{"factor": "0.25"}]}, 5),  # 20 x 0.25, for any processor
        (S822L, {"metric": "core", "factors": [{"factor": "0.25"}, {"processor": "POWER8", "factor": "1"}]}, 20),
        (S822L, {"metric": "core", "factors": [{"processor": "POWER8", "factor": "120"}]}, 2400),  # points: 20 x 120
        # Packs
        (SMALL, {"metric": "core", "pack": 8}, 8),  # ceil(2 / 8) x 8
        (S822L, {"metric": "core", "pack": 16}, 32),  # ceil(20 / 16) x 16
        (S822L, {"metric": "core", "pack": 2}, 20),  # 10 x 2
        (SMALL, {"metric": "core", "minimum_per_server": 5, "pack": 4}, 8),  # max(2, 5) = 5, ceil(5 / 4) x 4
        # vCPUs per licence, with SMT on and off
        (VM_ON, {"metric": "vcpu", "vcpus_per_licence_smt": 2}, 4),  # ceil(7 / 2)
        (VM_OFF, {"metric": "vcpu", "vcpus_per_licence_smt": 2}, 7),  # 7 / 1
        (VM_OFF, {"metric": "vcpu", "vcpus_per_licence_no_smt": 2}, 4),  # ceil(7 / 2)
        (VM_ON, {"metric": "vcpu", "vcpus_per_licence_smt": 4, "vcpus_per_licence_no_smt": 2}, 2),  # ceil(7 / 4)
        (X86, {"metric": "vcpu", "vcpus_per_licence_smt": 2}, 60),  # 120 / 2
        (SMALL, {"metric": "vcpu", "vcpus_per_licence_smt": 2}, 2),  # one thread per core: SMT is off, 2 / 1
        # Memory in blocks
        (X86, {"metric": "memory", "memory_block_gb": "64"}, 4),  # 256 / 64
        (CUT, {"metric": "memory", "memory_block_gb": "64"}, 2),  # ceil(100 / 64)
        (VM_ON, {"metric": "memory", "memory_block_gb": "64"}, 4),  # 256 / 64, as bought
        (VM_ON, {"metric": "memory", "memory_block_gb": "64", "counts_vm_memory": True}, 1),  # ceil(24 / 64)
        (VM_ON, {"metric": "memory", "counts_vm_memory": True, "minimum_per_vm": 32}, 32),  # max(24, 32)
    ],
)
def test_units_of_one_server(machine, rules, units):
    assert counted(machine, **rules).units == units


@pytest.mark.parametrize(
    ("nodes", "users", "rules", "units"),
    [
        ((Node(S822L, 3),), None, {"metric": "core"}, 60),  # 3 x 20
        ((Node(SMALL, 3),), None, {"metric": "core", "minimum_per_server": 4}, 12),  # 3 x max(2, 4)
        ((Node(SMALL, 3),), None, {"metric": "core", "minimum_per_order": 10}, 10),  # max(3 x 2, 10)
        ((Node(SMALL), Node(S822L)), None, {"metric": "core"}, 22),  # 2 + 20
        ((Node(X86, 2),), None, {"metric": "flat"}, 1),
        ((Node(X86, 2),), None, {"metric": "server"}, 2),
        ((Node(X86, 3),), None, {"metric": "core", "maximum_per_server": 24}, 72),  # 3 x min(60, 24)
        ((Node(X86, 3),), None, {"metric": "core", "maximum_per_server": 24, "maximum_per_order": 64}, 64),
        ((Node(S822L, 2),), 500, {"metric": "user", "maximum_per_order": 250}, 250),  # min(500, 250)
        # Packs pooled per server: 3 x ceil(2 / 8) x 8; per order: ceil(6 / 8) x 8
        ((Node(SMALL, 3),), None, {"metric": "core", "pack": 8}, 24),
        ((Node(SMALL, 3),), None, {"metric": "core", "pack": 8, "packs_pooled_per": "order"}, 8),
        # The minimum of the order comes before its packs: max(6, 9) = 9, ceil(9 / 8) x 8
        (
            (Node(SMALL, 3),),
            None,
            {"metric": "core", "minimum_per_order": 9, "pack": 8, "packs_pooled_per": "order"},
            16,
        ),
        # Factors rounded up per server: 2 x ceil(9 x 0.5) = 10; over the order: ceil(2 x 4.5) = 9
        ((Node(Machine("odd", 3, 3, processor="Xeon"), 2),), None, {"metric": "core", "factors": HALF}, 10),
        (
            (Node(Machine("odd", 3, 3, processor="Xeon"), 2),),
            None,
            {"metric": "core", "factors": HALF, "factor_rounded_per": "order"},
            9,
        ),
        # Exempt roles
        ((Node(S822L), Node(S822L, 2, "standby")), None, {"metric": "core", "exempt_roles": ["standby"]}, 20),
        ((Node(S822L), Node(S822L, 2, "standby")), None, {"metric": "core"}, 60),  # 3 x 20
        ((Node(S822L, 1, "standby"),), None, {"metric": "core", "exempt_roles": ["standby"]}, 0),
        ((Node(S822L, 1, "standby"),), None, {"metric": "flat", "exempt_roles": ["standby"]}, 0),
        # All are exempt: a minimum of the order does not make licences out of none
        ((Node(SMALL, 1, "pooler"),), None, {"metric": "core", "exempt_roles": ["pooler"], "minimum_per_order": 8}, 0),
        # Named users: people count once in the order, however many servers they use
        ((Node(S822L, 2),), 40, {"metric": "user"}, 40),
        ((Node(S822L),), 40, {"metric": "user", "users_per_processor": 25}, 50),  # max(40, 2 sockets x 25)
        ((Node(S822L),), 60, {"metric": "user", "users_per_processor": 25}, 60),  # max(60, 50)
        ((Node(S822L, 2),), 60, {"metric": "user", "users_per_processor": 25}, 100),  # max(60, 2 x 50)
        # Processors by core factor: ceil(60 x 0.5) = 30; 30 x 25 = 750
        (
            (Node(X86),),
            100,
            {"metric": "user", "users_per_processor": 25, "user_processor": "core", "factors": HALF},
            750,
        ),
        ((Node(S822L),), 3, {"metric": "user", "minimum_per_server": 5}, 5),  # max(3, 5)
        ((Node(S822L),), 12, {"metric": "user", "pack": 5}, 15),  # ceil(12 / 5) x 5
        # People are packed once: max(10, 2 x 2 sockets x 25) = 100 in packs of 20, not 2 x ceil(50 / 20) x 20 = 120
        ((Node(S822L, 2),), 10, {"metric": "user", "users_per_processor": 25, "pack": 20}, 100),
        # Where every server is exempt nobody needs a licence; people alone need theirs, and a site its one
        ((Node(S822L, 1, "standby"),), 40, {"metric": "user", "exempt_roles": ["standby"]}, 0),
        ((), 40, {"metric": "user"}, 40),
        ((), None, {"metric": "flat"}, 1),
        # What the minimum of the order adds comes in packs too: 2 x 8 = 16, raised to 20, ceil(20 / 8) x 8
        ((Node(SMALL, 2),), None, {"metric": "core", "pack": 8, "minimum_per_order": 20}, 24),
    ],
)
def test_units_of_an_order(nodes, users, rules, units):
    assert counted(nodes, users=users, **rules).units == units


@pytest.mark.parametrize(
    ("on", "units"),
    [(date(2025, 6, 30), 60), (date(2025, 7, 1), 30), (date(2026, 12, 1), 30)],  # 60 x 1 before, 60 x 0.5 from the day
)
def test_the_core_factor_of_the_day_counts(on, units):
    factors = [
        {"processor": "Xeon", "factor": "1", "since": "2020-01-01"},
        {"processor": "Xeon", "factor": "0.5", "since": "2025-07-01"},
    ]
    rules = rules_from({"metric": "core", "factors": factors})
    licence_count = count_licences("it", rules, Deployment((Node(X86),)), on)
    assert licence_count.units == units


@pytest.mark.parametrize(
    ("machine", "rules", "reason"),
    [
        (X86, {"metric": "core", "max_sockets": 2}, "at most 2 sockets, and x86 has 4"),
        (S822L, {"metric": "core", "max_sockets": 1}, "at most 1 socket, and S822L has 2"),
        (X86, {"metric": "socket", "max_cores": 32}, "at most 32 physical cores, and x86 has 60."),
        (X86, {"metric": "socket", "max_vcpus": 16}, "at most 16 vCPUs, and x86 has 120"),
        (X86, {"metric": "flat", "max_memory_gb": "128"}, "at most 128 GB of memory, and x86 has 256"),
        ((Node(SMALL, 3),), {"metric": "server", "max_servers": 2}, "at most 2 servers, and there are 3"),
    ],
)
def test_not_eligible_is_an_answer_with_its_reason(machine, rules, reason):
    answer = counted(machine, **rules)
    assert isinstance(answer, NotEligible)
    assert reason in answer.reason
    assert str(answer).startswith("it cannot be bought for this: it is for")


def test_at_a_limit_a_machine_is_still_eligible_and_an_exempt_one_has_none():
    assert counted(S822L, metric="core", max_sockets=2, max_cores=20).units == 20
    nodes = (Node(SMALL), Node(X86, role="standby"))
    assert counted(nodes, metric="core", max_sockets=1, exempt_roles=["standby"]).units == 2


def test_more_named_users_than_allowed_are_not_eligible():
    assert isinstance(counted(SMALL, users=11, metric="user", max_users=10), NotEligible)
    assert counted(SMALL, users=10, metric="user", max_users=10).units == 10


@pytest.mark.parametrize(
    ("machine", "rules", "message"),
    [
        (Machine("m", 1, 1), {"metric": "memory"}, "that of 'm' is not known"),
        (Machine("m", 1, 1), {"metric": "core", "max_memory_gb": "8"}, "that of 'm' is not known"),
        (SMALL, {"metric": "user"}, "number is not known"),
        (SMALL, {"metric": "core", "max_users": 10}, "limit on named users, and their number is not known"),
        ((), {"metric": "core"}, "counted on machines, and none is named"),
        (S822L, {"metric": "core", "factors": [{"processor": "Xeon", "factor": "0.5"}]}, "no core factor .*'POWER8'"),
    ],
)
def test_a_missing_fact_is_an_error_that_names_it_and_not_zero(machine, rules, message):
    with pytest.raises(PricingError, match=message):
        counted(machine, **rules)


def test_a_factor_that_does_not_hold_yet_is_missing():
    with pytest.raises(PricingError, match="on 2026-01-01: add one"):
        counted(X86, metric="core", factors=[{"processor": "Xeon", "factor": "1", "since": "2026-01-02"}])


def test_every_step_of_the_count_is_kept_in_order_and_reads_as_a_sentence():
    rules = {"metric": "core", "minimum_per_socket": 4, "factors": HALF, "minimum_per_server": 6, "pack": 4}
    nodes = (Node(Machine("two", 2, 3, processor="Xeon"), 2), Node(X86, 1, "standby"))
    licence_count = counted(nodes, exempt_roles=["standby"], minimum_per_order=20, **rules)
    assert [str(step) for step in licence_count.steps] == [
        "Exempt: x86 needs none of it, as its role is standby.",
        "Units: it is counted per physical core as bought; two has 2 x 3 = 6.",
        "Minimum: 3 of a socket are raised to 4; 2 x 4 = 8.",
        "Factor: 8 x 0.5 for Xeon = 4.",
        "Minimum: 4 of the server are raised to 6.",
        "Packs: 6 of the server take 2 packs of 4, which is 8.",
        "Order: 2 x 8 = 16.",
        "Minimum: 16 of the order are raised to 20.",
    ]
    kinds = [
        "exempt",
        "count",
        "minimum_per_socket",
        "factor",
        "minimum_per_server",
        "pack",
        "sum",
        "minimum_per_order",
    ]
    assert [step.kind for step in licence_count.steps] == kinds
    assert [step.result for step in licence_count.steps] == [0, 6, 8, 4, 6, 8, 16, 20]


def test_a_maximum_says_what_it_cut():
    licence_count = counted(X86, metric="core", maximum_per_socket=8, maximum_per_server=30)
    assert [str(step) for step in licence_count.steps[1:]] == [
        "Maximum: 15 of a socket are cut to 8; 4 x 8 = 32.",
        "Maximum: 32 of the server are cut to 30.",
    ]


def test_what_does_nothing_is_no_step():
    licence_count = counted(X86, metric="core", minimum_per_socket=4, maximum_per_socket=15, maximum_per_server=60)
    assert [step.kind for step in licence_count.steps] == ["count"]


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (lambda: Machine("m", 0, 4), "one socket"),
        (lambda: Machine("m", 1, 4, disabled_cores_per_socket=4), "fewer cores disabled"),
        (lambda: VirtualMachine(0), "one vCPU"),
        (lambda: Node(SMALL, 0), "leave it out"),
    ],
)
def test_what_cannot_be_bought_is_refused(machine, message):
    with pytest.raises(PricingError, match=message):
        machine()


small = st.integers(0, 40)
models = st.builds(
    lambda pack, **rules: LicenceRules("core", pack=pack, **rules),
    pack=st.sampled_from([1, 2, 8, 16]),
    minimum_per_socket=small,
    minimum_per_server=small,
    minimum_per_order=small,
)


@given(models, st.integers(1, 8), st.integers(1, 128), st.integers(1, 128), st.integers(1, 4))
def test_more_cores_never_take_fewer_licences(rules, sockets, fewer, more, quantity):
    fewer, more = sorted((fewer, more))
    few, many = (
        count_licences("it", rules, Deployment((Node(Machine("m", sockets, cores), quantity),))).units
        for cores in (fewer, more)
    )
    assert few <= many


@given(models, st.sampled_from(["server", "order"]), st.integers(1, 8), st.integers(1, 128), st.integers(1, 4))
def test_a_pack_never_sells_less_than_is_needed_nor_a_whole_pack_more(rules, pool, sockets, cores, quantity):
    if rules.pack == 1:
        return
    deployment = Deployment((Node(Machine("m", sockets, cores), quantity),))
    packed = LicenceRules("core", pack=rules.pack, packs_pooled_per=pool)
    needed = sockets * cores * quantity
    sold = count_licences("it", packed, deployment).units
    assert needed <= sold < needed + rules.pack * (quantity if pool == "server" else 1)
    assert sold % rules.pack == 0
