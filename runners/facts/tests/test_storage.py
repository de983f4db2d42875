import pytest

from runners.facts.storage import block_devices, devices, filesystems, zfs_pools

TREE = devices(
    "\n".join(
        [
            "nvme0n1|259:0||||1000|0|[none] mq-deadline|FAST 1T",
            "nvme0n1p3|259:3|||nvme0n1||||",
            "sda|8:0||||2000|1|mq-deadline|SLOW",
            "sdb|8:16||||2000|1|mq-deadline|SLOW",
            "sdb1|8:17|||sdb||||",
            "sdc|8:32||||2000|0|none|SMALL",
            "md0|9:0|raid10||sda sdb|800|1||",
            "md0p1|259:9|||md0||||",
            "bcache0|252:16|||sda sdc|800|1||",
            "zd16|230:16||||800|0||",
            "rbd0|251:0||||800|0||",
            "dm-3|253:3|LVM-Zr|vg-lost|sdz|800|1||",
            "dm-0|253:0|CRYPT-LUKS2-0a|safe|nvme0n1p3|900|0||",
            "dm-1|253:1|LVM-Zq|vg-data|dm-0|800|0||",
            "dm-2|253:2|mpath-3600|mpatha|sda sdb|800|1||",
            "zram0|252:0||||512|0||",
            "loop0|7:0||||64|0||",
        ]
    )
)
LSBLK = 'NAME="{}" TYPE="disk" SIZE="4096" ROTA="{}" SCHED="none" MODEL="{}"'


def mount(line, number=""):
    folder = line.split()[1]
    [row] = filesystems(f"{line} rw 0 0", "", f"{number} {folder}", TREE)
    return {name: row[name] for name in ("layers", "disks", "rests_on") if name in row}


@pytest.mark.parametrize(
    ("line", "number", "ground"),
    [
        ("/dev/mapper/vg-data /pg xfs", "253:1", {"layers": ["LVM", "dm-crypt"], "disks": ["nvme0n1"]}),
        ("/dev/mapper/vg-data /pg xfs", "", {"layers": ["LVM", "dm-crypt"], "disks": ["nvme0n1"]}),
        ("/dev/root / ext4", "259:3", {"disks": ["nvme0n1"]}),
        ("/dev/sda /pg ext4", "", {"disks": ["sda"]}),
        ("/dev/mapper/mpatha /pg ext4", "253:2", {"layers": ["multipath"], "disks": ["sda", "sdb"]}),
        ("/dev/md0p1 /pg ext4", "259:9", {"layers": ["md raid10"], "disks": ["sda", "sdb"]}),
        ("/dev/bcache0 /pg ext4", "252:16", {"layers": ["bcache"], "disks": ["sda", "sdc"]}),
        ("/dev/zd16 /pg ext4", "230:16", {"layers": ["ZFS volume"], "disks": []}),
        ("/dev/loop0 /pg ext4", "7:0", {"layers": ["a file"], "disks": []}),
        ("/dev/rbd0 /pg ext4", "251:0", {"disks": ["rbd0"]}),
        ("/dev/sda:/dev/sdc /pg bcachefs", "0:40", {"disks": ["sda", "sdc"]}),
        ("/dev/sda:/dev/sdz /pg bcachefs", "0:40", {}),
        ("/dev/mapper/vg-lost /pg ext4", "253:3", {}),
        ("share /pg vboxsf", "0:41", {"rests_on": "host of the guest"}),
        ("mgs:/pg /pg lustre", "0:42", {"rests_on": "network"}),
        ("/dev/zram0 /pg ext4", "252:0", {"disks": ["zram0"]}),
        ("tmpfs /pg tmpfs", "0:30", {"rests_on": "memory"}),
        ("overlay / overlay", "0:31", {"rests_on": "overlay"}),
        ("tank/pg /pg zfs", "0:32", {"rests_on": "ZFS pool tank"}),
        ("nas:/x /pg nfs4", "0:33", {"rests_on": "network"}),
        ("sshfs /pg fuse.sshfs", "0:34", {"rests_on": "a program (FUSE)"}),
        ("/dev/nothing /pg ext4", "", {}),
    ],
)
def test_a_file_system_is_followed_to_what_it_rests_on(line, number, ground):
    assert mount(line, number) == ground


@pytest.mark.parametrize(
    ("kind", "layer"),
    [
        ("CRYPT-VERITY-8ef4-usr", "dm-verity"),
        ("CRYPT-INTEGRITY-pg", "dm-integrity"),
        ("CRYPT-SUBDEV-0a-pg_dif", "dm-integrity"),
        ("CRYPT-PLAIN-pg", "dm-crypt"),
        ("stratis-1-private-0a-flex-thindata", "Stratis"),
        ("", "device mapper"),
        ("part2-mpath-3600", ""),
    ],
)
def test_a_device_of_the_mapper_is_called_what_its_maker_makes(kind, layer):
    assert devices(f"dm-0|253:0|{kind}|pg|sda|800|1||")["dm-0"].layer == layer


def test_layers_that_are_said_to_be_of_each_other_end():
    tree = devices("dm-0|253:0|LVM-a|a|dm-1|1|0||\ndm-1|253:1|LVM-b|b|dm-0|1|0||")
    [row] = filesystems("/dev/mapper/a /pg xfs rw 0 0", "", "", tree)
    assert (row["layers"], row["disks"]) == (["LVM"], [])


def test_a_tree_that_no_machine_has_is_not_followed():
    tree = devices("\n".join(f"dm-{part}|253:{part}|LVM|n{part}|dm-{min(part + 1, 999)}||||" for part in range(1000)))
    [top] = filesystems("/dev/mapper/n0 /pg xfs rw 0 0", "", "", tree)
    [low] = filesystems("/dev/mapper/n900 /pg xfs rw 0 0", "", "", tree)
    assert "disks" not in top and low["layers"] == ["LVM"]


def test_a_folder_with_a_blank_is_read_with_its_size():
    sizes = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda 10 4 6 40% /my pg"
    [row] = filesystems("/dev/sda /my\\040pg ext4 rw 0 0", sizes, "8:0 /my\\040pg", TREE)
    assert (row["folder"], row["size_bytes"], row["disks"]) == ("/my pg", 10240, ["sda"])


def test_disks_are_of_sysfs_where_there_is_no_lsblk():
    rows = block_devices("", TREE)
    assert [(row["name"], row["size_bytes"], row.get("is_rotational")) for row in rows] == [
        ("nvme0n1", 512_000, False),
        ("sda", 1_024_000, True),
        ("sdb", 1_024_000, True),
        ("sdc", 1_024_000, False),
        ("rbd0", 409_600, None),
        ("zram0", 262_144, None),
    ]
    assert (rows[0]["scheduler"], rows[1]["scheduler"], rows[0]["model"]) == ("none", "mq-deadline", "FAST 1T")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("vda", ""),
        ("sda", "QEMU\\x20HARDDISK"),
        ("sda", "Virtual disk"),
        ("nvme0n1", "nvme_card-pd"),
        ("zram0", ""),
        # Written by udev, and the other end of a network.
        ("nvme1n1", "Amazon_Elastic_Block_Store"),
        ("nvme1n1", "Linux"),
    ],
)
def test_a_disk_that_is_made_up_is_not_said_to_rotate_or_not(name, model):
    [disk] = block_devices(LSBLK.format(name, 1, model), {})
    assert disk["is_virtual"] and "is_rotational" not in disk


@pytest.mark.parametrize("name", ["fd0", "bcache0", "zd16", "loop3", "mmcblk0boot1", "mmcblk0rpmb"])
def test_what_lsblk_calls_a_disk_and_holds_no_files_of_its_own_is_none(name):
    disks = block_devices("\n".join(LSBLK.format(disk, 1, "") for disk in (name, "mmcblk0")), {})
    assert [disk["name"] for disk in disks] == ["mmcblk0"]


@pytest.mark.parametrize("flag", ["", "x", "2"])
def test_a_flag_that_is_none_is_no_claim(flag):
    [disk] = block_devices(LSBLK.format("sda", flag, "A"), {})
    assert "is_rotational" not in disk and "is_virtual" not in disk


POOLS = """\
tank\t928G\t100G\t828G\t-\t-\t1%\t10%\t1.00x\tONLINE\t-
\tmirror-0\t928G\t100G\t828G\t-\t-\t1%\t10.8%\t-\tONLINE
\t/dev/sda\t931G\t-\t-\t-\t-\t-\t-\t-\tONLINE
\t/dev/sdb1\t931G\t-\t-\t-\t-\t-\t-\t-\tONLINE
cache      -      -      -        -         -      -      -      -         -
\t/dev/nvme0n1p3\t10G\t-\t-\t-\t-\t-\t-\t-\tONLINE
fast\t928G\t100G\t828G\t-\t-\t1%\t10%\t1.00x\tONLINE\t-
\t/dev/mapper/safe\t931G\t-\t-\t-\t-\t-\t-\t-\tONLINE
lost\t928G\t100G\t828G\t-\t-\t1%\t10%\t1.00x\tONLINE\t-
\t/dev/sda\t931G\t-\t-\t-\t-\t-\t-\t-\tONLINE
\t1234567890\t931G\t-\t-\t-\t-\t-\t-\t-\tUNAVAIL
"""


@pytest.mark.parametrize(
    ("device", "ground"),
    [
        ("tank/pg", {"rests_on": "ZFS pool tank", "layers": ["ZFS mirror"], "disks": ["sda", "sdb"]}),
        ("fast", {"rests_on": "ZFS pool fast", "layers": ["dm-crypt"], "disks": ["nvme0n1"]}),
        ("lost/pg", {"rests_on": "ZFS pool lost"}),
        ("other/pg", {"rests_on": "ZFS pool other"}),
    ],
)
def test_a_pool_of_zfs_says_its_name_and_its_disks_where_all_are_known(device, ground):
    [row] = filesystems(f"{device} /pg zfs rw 0 0", "", "0:32 /pg", TREE, zfs_pools(POOLS))
    assert {name: row[name] for name in ("layers", "disks", "rests_on") if name in row} == ground


@pytest.mark.parametrize("text", ["", "no pools available", "\t/dev/sda", "tank\n\t\n\t/dev/sda", "\n" * 9])
def test_what_is_no_list_of_pools_has_none(text):
    assert zfs_pools(text) == {}


ARRAYS = (
    "LIO-ORG storage", "NETAPP LUN C-Mode", "SYNOLOGY iSCSI Storage", "PURE FlashArray", "VDISK", "VV", "XSG1",
    "Server", "MSA 2050 SAN", "PowerStore", "2107900", "InfiniBox", "VDASD", "INF-01-00",
)  # fmt: skip
CLOUDS = ("Volume", "HC_Volume", "Cloud Disk")


@pytest.mark.parametrize("model", ARRAYS + CLOUDS)
def test_a_volume_of_an_array_or_a_cloud_is_not_said_to_rotate(model):
    [disk] = block_devices(LSBLK.format("sda", 1, model.replace(" ", "\\x20")), {})
    assert disk["is_virtual"] and "is_rotational" not in disk


@pytest.mark.parametrize(
    "model",
    [
        "PERC H730P Mini", "MR9361-8i", "SMC3108", "ServeRAID M5210", "ARC-1882-VOL#000",
        "Ultra_USB_3.0", "Flash Disk", "SanDisk 3.2Gen1", "INTEL SSDSC2CT06", "Lexar_SSD_NS100",
    ],
)  # fmt: skip
@pytest.mark.parametrize("flag", [0, 1])
def test_a_device_that_does_not_say_what_it_lies_on_is_believed_only_that_it_does_not_rotate(model, flag):
    [disk] = block_devices(LSBLK.format("sda", flag, model.replace(" ", "\\x20")), {})
    assert disk.get("is_rotational") is (None if flag else False)
    assert "is_virtual" not in disk


@pytest.mark.parametrize(
    "model", ["ST4000NM0035-1V4", "WDC_WD40EFRX-68N", "ST1000LX015 SSHD", "HUS726T6TALE6L4", "MG08SCA16TE"]
)
def test_a_disk_that_rotates_is_said_to(model):
    [disk] = block_devices(LSBLK.format("sda", 1, model.replace(" ", "\\x20")), {})
    assert disk["is_rotational"] and "is_virtual" not in disk


def test_a_volume_of_a_controller_in_the_machine_is_said_to_rotate():
    [disk] = block_devices(LSBLK.format("sda", 1, "LOGICAL\\x20VOLUME"), {})
    assert disk["is_rotational"] is True
