"""How many licences a machine of unlike sockets needs, and what counts by the smaller of two."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.pricing.licences.rules_form import rules_from
from benchhub.analysis.pricing.licences.units import NotEligible, count_licences
from benchhub.analysis.pricing.money import PricingError
from benchhub.analysis.pricing.topology import Deployment, Machine, Node, VirtualMachine

DAY = date(2026, 1, 1)
S822L = Machine("S822L", 2, 10, threads_per_core=8, memory_gb=Decimal(256), processor="POWER8")
X86 = Machine("x86", 4, 15, threads_per_core=2, memory_gb=Decimal(256), processor="Xeon")
# Sockets of 16 and 8 cores, 4 of each disabled in firmware.
UNLIKE = Machine("unlike", 2, 16, 2, Decimal(64), "Xeon", 4, unlike_cores=(16, 8))
VM_WIDE = Machine("wide", 2, 10, 2, Decimal(256), "Xeon", 2, vm=VirtualMachine(40, Decimal(24)))


def counted(machine, /, quantity=1, users=None, **rules):
    """`machine` is one, or the nodes of a deployment."""
    nodes = machine if isinstance(machine, tuple) else (Node(machine, quantity),)
    return count_licences("it", rules_from(rules), Deployment(nodes, users), DAY)


def test_the_steps_of_unlike_sockets_and_of_the_smaller_of_two_say_what_was_counted():
    def steps(machine, **rules):
        return [str(step) for step in counted(machine, **rules).steps]

    assert steps(UNLIKE, metric="core", minimum_per_socket=10) == [
        "Units: it is counted per physical core as bought; unlike has 16 + 8 = 24, with those disabled in firmware.",
        "Minimum: 8 of a socket are raised to 10; 1 x 10 = 10.",
    ]
    assert steps(UNLIKE, metric="socket", cores_per_licence=8)[1] == (
        "Cores: a licence covers 8 cores of a socket, and 16 + 8 take 2 + 1 = 3."
    )
    assert steps(VM_WIDE, metric="vm_core") == [
        "Units: it is counted by the smaller of vCPUs and physical cores; wide has 40 vCPUs on 20 cores: 20."
    ]
    assert steps(X86, metric="vm_core") == [
        "Units: it is counted per physical core without a virtual machine; x86 has 60."
    ]


def test_limits_and_users_go_by_all_cores_of_unlike_sockets():
    assert isinstance(counted(UNLIKE, metric="server", max_cores=23), NotEligible)
    assert counted(UNLIKE, metric="server", max_cores=24).units == 1
    users = {"metric": "user", "users_per_processor": 5, "user_processor": "core"}
    assert counted(UNLIKE, users=1, **users).units == 120  # 24 x 5


@pytest.mark.parametrize("cores", [(16,), (16, 8, 4), (8, 8), (32, 8)])
def test_cores_that_contradict_the_sockets_are_refused(cores):
    with pytest.raises(PricingError, match="as many numbers of cores as sockets"):
        Machine("wrong", 2, 16, unlike_cores=cores)


def test_a_socket_needs_a_core_that_is_not_disabled():
    with pytest.raises(PricingError, match="fewer cores disabled"):
        Machine("wrong", 2, 16, disabled_cores_per_socket=8, unlike_cores=(16, 8))


@given(st.lists(st.integers(1, 64), min_size=1, max_size=8), st.sampled_from(["core", "socket", "vcpu", "vm_core"]))
def test_sockets_written_one_by_one_count_as_alike_ones_do(cores, metric):
    alike = Machine("m", len(cores), cores[0], 2)
    one_by_one = Machine("m", len(cores), cores[0], 2, unlike_cores=(cores[0],) * len(cores))
    assert counted(alike, metric=metric) == counted(one_by_one, metric=metric)
    unlike = Machine("m", len(cores), max(cores), unlike_cores=tuple(cores))
    assert counted(unlike, metric="core").units == sum(cores)


@given(st.integers(1, 500), st.integers(1, 8), st.integers(1, 64))
def test_the_smaller_of_vcpus_and_cores_is_never_more_than_either(vcpus, sockets, cores):
    machine = Machine("m", sockets, cores, vm=VirtualMachine(vcpus))
    assert counted(machine, metric="vm_core").units == min(vcpus, sockets * cores)
