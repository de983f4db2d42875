"""Disks and file systems, and what lies between them: partitions, LVM, encryption, RAID."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from runners.readings import LARGEST, count, whole

from .texts import LARGEST_KIB

Facts = dict[str, Any]

MOST_LINES, MOST_MOUNTS, MOST_BELOW = 2**14, 2**12, 256
LONGEST_LINE = 4096
PSEUDO_FILESYSTEMS = re.compile(
    r"autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|efivarfs|fusectl|hugetlbfs|mqueue|nsfs"
    r"|proc|pstore|ramfs|rpc_pipefs|securityfs|selinuxfs|squashfs|sysfs|tracefs"
)
VIRTUAL_DISK = re.compile(
    r"^(vd[a-z]|xvd[a-z]|zram|ram[0-9]|nbd|rbd|drbd|zd[0-9]|loop|dasd[a-z])|qemu|virtual|vbox|vmware|msft|virtio"
    r"|persistentdisk|nvme card-pd|elastic block sto|blockvolume|bhyve|\bxen\b"
    # DigitalOcean, Hetzner and Tencent; a 'LOGICAL VOLUME' is of a controller in the machine.
    r"|^\w{1,64} (?:hc )?volume$|\bcloud disk\b"
    # What an array of disks gives out over a network: the array alone knows what lies below it.
    r"|iscsi|\blun\b|\bvdisk\b|lio-org|flasharray|3pardata|compellent vol|symmetrix|\bvraid\b|\bopen-v|\b2145\b"
    r"|powerstore|xtremapp|infinibox|flashsystem|eternus|\bmsa \d{4}|\b2107900|\b2810xiv|\bhsv\d{3}\b|universal xport"
    # Of 3PAR, Dorado, Nimble, EqualLogic, SANtricity and Hitachi AMS; and of PowerVM, Virtuozzo, SCST and SPDK.
    r"|^\w{1,64} (?:vv|xsg1|server|100e-00|inf-01-00|df600f)$|\bvdasd\b|^ploop\d|\bscst|\bspdk\b"
    # Of another machine's kernel, by NVMe over a network.
    r"|^nvme\w{1,64} linux$",
    re.IGNORECASE,
)
# What lsblk calls a disk as well: floppies, what is made of other disks, and the parts of eMMC that hold no files.
NO_DISK = re.compile(r"loop|ram[0-9]|sr[0-9]|dm-|md[0-9_]|fd[0-9]|bcache|zd[0-9]|mmcblk[0-9]{1,4}(?:boot|rpmb)")
# Whose flag says rotating where nothing is told: volumes of controllers in the machine, and sticks and adapters of
# USB. A model that calls itself an SSD contradicts it.
UNTOLD = re.compile(
    r"\bperc\b|raid|^mr\d{4}|^smc\d{4}|^arc-\d{4}|\busb|flash|cruzer|datatraveler|\b3\.[0-2] ?gen ?\d|(?<![a-z])ssd",
    re.IGNORECASE,
)
# By the start of the identifier that its maker gives a device of the mapper; the longer one first.
MAPPED = {
    "CRYPT-VERITY": "dm-verity", "CRYPT-INTEGRITY": "dm-integrity", "CRYPT-SUBDEV": "dm-integrity",
    "CRYPT": "dm-crypt", "LVM": "LVM", "mpath": "multipath", "DMRAID": "dmraid", "VDO": "VDO", "stratis": "Stratis",
}  # fmt: skip
# By the start of the name; what lies below a file or a volume of ZFS is not followed.
NAMED = {"bcache": "bcache", "loop": "a file", "zd": "ZFS volume"}
# Headings under which zpool lists what holds no data, and the kinds of what it makes of disks.
BESIDE = ("cache", "spare", "spares")
VDEV = re.compile(r"(mirror|raidz[1-3]?|draid[1-3]?)(?:[:-].{1,64})?")
PARTITION = re.compile("[0-9]p[0-9]+$")
# Whose files lie elsewhere than on a disk of this machine.
ELSEWHERE = {
    "tmpfs": "memory", "overlay": "overlay", "aufs": "overlay", "nfs": "network", "nfs4": "network",
    "cifs": "network", "smb3": "network", "smbfs": "network", "ceph": "network", "glusterfs": "network",
    "lustre": "network", "beegfs": "network", "gpfs": "network", "orangefs": "network", "afs": "network",
    "9p": "host of the guest", "virtiofs": "host of the guest", "vboxsf": "host of the guest",
    "vmhgfs": "host of the guest", "prl_fs": "host of the guest", "drvfs": "host of the guest",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Device:
    """A block device, or a pool of btrfs, as the probe prints it; `parents` are the devices that it is made of."""

    name: str
    number: str
    kind: str
    title: str
    parents: tuple[str, ...]
    sectors: str = ""
    rotational: str = ""
    scheduler: str = ""
    model: str = ""

    @property
    def layer(self) -> str:
        """Return what it makes of its parents; '' for a disk or a partition."""
        if self.name.startswith("dm-"):
            mapped = (layer for start, layer in MAPPED.items() if self.kind.startswith(start))
            return "" if self.kind.startswith("part") else next(mapped, "device mapper")
        if self.name.startswith("md"):
            return f"md {self.kind}".strip() if self.parents and not PARTITION.search(self.name) else ""
        return next((layer for start, layer in NAMED.items() if self.name.startswith(start)), "")

    @property
    def is_disk(self) -> bool:
        return bool(self.number and not self.parents and not NO_DISK.match(self.name))


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool of ZFS: the devices that it is made of, what it makes of them, and parts that are neither."""

    devices: list[str] = field(default_factory=list)
    layers: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def devices(text: str) -> dict[str, Device]:
    """Return devices by name, of lines 'name|number|kind|title|parents|sectors|rotational|scheduler|model'."""
    rows = (line[:LONGEST_LINE].split("|", 8) for line in text.splitlines()[:MOST_LINES])
    return {words[0]: _device(words) for words in rows if len(words) == 9 and words[0]}


def _device(words: Sequence[str]) -> Device:
    name, number, kind, title, parents, *rest = (word.strip() for word in words)
    return Device(name, number, kind, title, tuple(parents.split()), *rest)


def block_devices(lsblk: str, tree: Mapping[str, Device]) -> list[Facts]:
    """Return the whole disks of `lsblk -P`, else of sysfs; what is made of other disks or of files is none."""
    rows = [row for row in map(_lsblk_row, lsblk.splitlines()[:MOST_LINES]) if _is_disk(row)]
    rows = rows or [_row_of_device(device) for device in tree.values() if device.is_disk]
    return [_disk(row) for row in rows if count(row.get("SIZE", ""), LARGEST)]


def _lsblk_row(line: str) -> dict[str, str]:
    values = re.findall(r'(?<![A-Z])([A-Z]{1,32})="([^"]*)"', line[:LONGEST_LINE])
    return {name: re.sub(r"\\x([0-7][0-9a-f])", lambda match: chr(int(match[1], 16)), value) for name, value in values}


def _is_disk(row: Mapping[str, str]) -> bool:
    return row.get("TYPE") == "disk" and not NO_DISK.match(row.get("NAME", ""))


def _row_of_device(device: Device) -> dict[str, str]:
    """Return a disk as lsblk would print it. Sectors of sysfs are of 512 bytes, always."""
    in_force = re.search(r"\[([\w-]{1,32})\]", device.scheduler)
    sectors = whole(device.sectors, LARGEST // 512) or 0
    row = {"NAME": device.name, "SIZE": str(sectors * 512), "ROTA": device.rotational, "MODEL": device.model}
    return {**row, "SCHED": in_force[1] if in_force else device.scheduler}


def _disk(row: Mapping[str, str]) -> Facts:
    name, model = row.get("NAME", "")[:64], row.get("MODEL", "").strip()[:256]
    disk = {"name": name, "size_bytes": int(row["SIZE"]), "scheduler": row.get("SCHED", "")[:64], "model": model}
    # The flag of a disk that a hypervisor made up says nothing of what lies below it; the kernel sets it as it likes.
    words = model.replace("_", " ")  # udev writes blanks so
    if VIRTUAL_DISK.search(f"{name} {words}"):
        return {**disk, "is_virtual": True}
    rotational = row.get("ROTA")
    if rotational == "1" and UNTOLD.search(words):
        return disk
    return {**disk, "is_rotational": rotational == "1"} if rotational in ("0", "1") else disk


def zfs_pools(text: str) -> dict[str, Pool]:
    """Return the pools of `zpool list -v -H -P -L` by name; what only caches or stands by is no part of them."""
    pools, name, is_part = dict[str, Pool](), "", True
    for line in text.splitlines()[:MOST_LINES]:
        words = line[:LONGEST_LINE].split()
        if not words:
            continue
        if not line[0].isspace():
            # A pool's numbers stand behind tabs, a heading has none.
            is_pool = line.startswith(f"{words[0]}\t")
            name, is_part = (words[0], True) if is_pool else (name, words[0] not in BESIDE)
            if is_pool:
                pools[name] = Pool()
        elif name and is_part:
            _add_part(pools[name], words[0])
    return pools


def _add_part(pool: Pool, word: str) -> None:
    if word.startswith("/"):
        pool.devices.append(word)
    elif kind := VDEV.fullmatch(word):
        pool.layers.append(f"ZFS {kind[1]}")
    else:
        pool.unknown.append(word)


def filesystems(
    mounts: str, sizes: str, numbers: str, tree: Mapping[str, Device], pools: Mapping[str, Pool] | None = None
) -> list[Facts]:
    """Return what is mounted and holds files, each with its size and with what it rests on."""
    sizes_by_folder, index = dict(_sizes(sizes)), _index(tree)
    numbers_by_folder = {words[1]: words[0] for words in map(str.split, numbers.splitlines()) if len(words) == 2}
    by_folder: dict[str, Facts] = {}
    rows = (line[:LONGEST_LINE].split() for line in mounts.splitlines()[:MOST_MOUNTS])
    for device, mounted, kind, options, *_ in (words for words in rows if len(words) >= 4):
        if PSEUDO_FILESYSTEMS.fullmatch(kind) or mounted.startswith(("/proc/", "/sys/")):
            continue
        folder = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), mounted)
        mount: Facts = {"device": device, "folder": folder, "type": kind, "options": options.split(",")}
        # What is mounted over another hides it.
        by_folder[folder] = {
            **mount,
            **sizes_by_folder.get(folder, {}),
            **(
                _ground_of_pool(device.partition("/")[0], pools or {}, index, tree)
                if kind == "zfs"
                else _ground(kind, _start(device, numbers_by_folder.get(mounted, ""), index), tree)
            ),
        }
    return list(by_folder.values())


def _sizes(text: str) -> Iterator[tuple[str, Facts]]:
    """Yield the size and the free bytes of each folder out of `df -P -k`."""
    for line in text.splitlines()[1:MOST_LINES]:
        words = line[:LONGEST_LINE].split(None, 5)
        if len(words) == 6:
            size_kib, free_kib = whole(words[1], LARGEST_KIB), whole(words[3], LARGEST_KIB)
            if size_kib is not None and free_kib is not None:
                yield words[5], {"size_bytes": size_kib * 1024, "free_bytes": free_kib * 1024}


def _ground(kind: str, start: Sequence[str], tree: Mapping[str, Device]) -> Facts:
    """Return what a file system rests on: the layers from it down, and the disks below them; empty if unknown."""
    if kind in ELSEWHERE or kind.startswith("fuse"):
        return {"rests_on": ELSEWHERE.get(kind, "a program (FUSE)")}
    if not start:
        return {}
    chain = list(islice(_below(start, tree), MOST_BELOW))
    # Disks of which some are missing would be others than there are.
    if len(chain) == MOST_BELOW or any(parent not in tree for part in chain for parent in part.parents):
        return {}
    layers = list(dict.fromkeys(part.layer for part in chain if part.layer))
    disks = list(dict.fromkeys(part.name for part in chain if not part.parents and not part.layer))
    return {**({"layers": layers} if layers else {}), "disks": disks}


def _ground_of_pool(
    name: str, pools: Mapping[str, Pool], index: Mapping[str, Sequence[str]], tree: Mapping[str, Device]
) -> Facts:
    """Return the pool of ZFS, and its disks where all of its parts are known."""
    facts, pool = {"rests_on": f"ZFS pool {name[:64]}"}, pools.get(name, Pool())
    starts = [_start(device, "", index) for device in pool.devices]
    if not starts or not all(starts) or pool.unknown:
        return facts
    ground = _ground("", [part for start in starts for part in start], tree)
    layers = list(dict.fromkeys([*pool.layers, *ground.get("layers", ())]))
    return {**facts, **ground, **({"layers": layers} if layers else {})} if ground else facts


def _start(device: str, number: str, index: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the devices that a mount is of: several of btrfs, whose own number is no device's."""
    if device.startswith("/dev/") and ":/dev/" in device:  # bcachefs
        parts = [_start(part, "", index) for part in device.split(":")]
        return [name for part in parts for name in part] if all(parts) else ()
    name = device.removeprefix("/dev/").removeprefix("mapper/").replace("/", "!")
    is_device = device.startswith("/dev/")
    return (
        (is_device and index.get(f"pool {name}"))
        or index.get(number)
        or (is_device and index.get(f"name {name}"))
        or ()
    )


def _index(tree: Mapping[str, Device]) -> dict[str, Sequence[str]]:
    """Return the devices by their number, by name or title, and those of a pool by each of them."""
    index: dict[str, Sequence[str]] = {}
    for part in tree.values():
        if part.kind == "btrfs":
            index |= {f"pool {parent}": part.parents for parent in part.parents}
        else:
            index |= {key: (part.name,) for key in (part.number, f"name {part.title}", f"name {part.name}") if key}
    return index


def _below(names: Sequence[str], tree: Mapping[str, Device]) -> Iterator[Device]:
    """Yield each device from these down, once, also where they are said to be of each other."""
    waiting, names_before = deque(names), set[str]()
    while waiting:
        name = waiting.popleft()
        if name in tree and name not in names_before:
            names_before.add(name)
            yield tree[name]
            waiting += tree[name].parents
