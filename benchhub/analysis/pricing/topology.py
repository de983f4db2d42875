"""Describe the machines bought: licences count their sockets and cores, not what a virtual machine shows."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from .listed import Price
from .money import PricingError

PRIMARY, POOLER = "primary", "pooler"


@dataclass(frozen=True, slots=True)
class VirtualMachine:
    """The shape of the virtual machine that the server runs in, for licences that count vCPUs or its memory.

    `smt` says whether two vCPUs share a physical core.
    """

    vcpus: int
    memory_gb: Decimal | None = None
    smt: bool = True

    def __post_init__(self) -> None:
        if self.vcpus < 1:
            raise PricingError("A virtual machine has one vCPU at least.")


@dataclass(frozen=True, slots=True)
class Machine:
    """One server as it was bought. `cores_per_socket` includes those that are disabled in firmware.

    `unlike_cores` are the cores of each socket where they differ; then `cores_per_socket` is the most of them.
    `processor` is its family, by which core factors are looked up. Memory is None where it is not known.
    """

    name: str
    sockets: int
    cores_per_socket: int
    threads_per_core: int = 1
    memory_gb: Decimal | None = None
    processor: str = ""
    disabled_cores_per_socket: int = 0
    vm: VirtualMachine | None = None
    unlike_cores: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.unlike_cores and (len(self.unlike_cores), max(self.unlike_cores)) != (
            self.sockets,
            self.cores_per_socket,
        ):
            raise PricingError(f"'{self.name}' must have as many numbers of cores as sockets, at most its cores each.")
        if min(self.sockets, self.cores_per_socket, self.threads_per_core) < 1:
            raise PricingError(f"'{self.name}' needs one socket, one core and one thread at least.")
        if not 0 <= self.disabled_cores_per_socket < min(self.unlike_cores or (self.cores_per_socket,)):
            raise PricingError(f"'{self.name}' must have fewer cores disabled in a socket than the socket has.")

    @property
    def vcpus(self) -> int:
        """Return the vCPUs of the virtual machine if there is one, otherwise the threads of the enabled cores."""
        return self.vm.vcpus if self.vm else self.cores(False) * self.threads_per_core

    @property
    def smt(self) -> bool:
        return self.vm.smt if self.vm else self.threads_per_core > 1

    def socket_cores(self, with_disabled: bool) -> list[int]:
        """Return the cores of each socket."""
        disabled = 0 if with_disabled else self.disabled_cores_per_socket
        return [cores - disabled for cores in self.unlike_cores or (self.cores_per_socket,) * self.sockets]

    def cores(self, with_disabled: bool) -> int:
        """Return the cores of all sockets."""
        return sum(self.socket_cores(with_disabled))


@dataclass(frozen=True, slots=True)
class Node:
    """`quantity` equal machines in one role: primary, standby, pooler, ... `prices` are the list prices of one."""

    machine: Machine
    quantity: int = 1
    role: str = PRIMARY
    prices: tuple[Price, ...] = ()

    def __post_init__(self) -> None:
        if self.quantity < 1:
            raise PricingError(f"Buy one '{self.machine.name}' at least, or leave it out.")


@dataclass(frozen=True, slots=True)
class Deployment:
    """Machines that are bought and licensed in one order. `named_users` are people: each counts once in the order."""

    nodes: tuple[Node, ...] = ()
    named_users: int | None = None
