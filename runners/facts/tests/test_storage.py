import pytest

from runners.facts.storage import block_devices, devices, filesystems

TREE = devices(
    "\n".join(
        [
            "nvme0n1|259:0||||1000|0|[none] mq-deadline|FAST 1T",
            "nvme0n1p3|259:3|||nvme0n1||||",
            "sda|8:0||||2000|1|mq-deadline|SLOW",
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
        ("/dev/mapper/mpatha /pg ext4", "253:2", {"layers": ["multipath"], "disks": ["sda"]}),
        ("/dev/zram0 /pg ext4", "252:0", {"disks": ["zram0"]}),
        ("tmpfs /pg tmpfs", "0:30", {"rests_on": "memory"}),
        ("overlay / overlay", "0:31", {"rests_on": "overlay"}),
        ("tank/pg /pg zfs", "0:32", {"rests_on": "ZFS pool"}),
        ("nas:/x /pg nfs4", "0:33", {"rests_on": "network"}),
        ("sshfs /pg fuse.sshfs", "0:34", {"rests_on": "a program (FUSE)"}),
        ("/dev/nothing /pg ext4", "", {}),
    ],
)
def test_a_file_system_is_followed_to_what_it_rests_on(line, number, ground):
    assert mount(line, number) == ground


def test_layers_that_are_said_to_be_of_each_other_end():
    tree = devices("dm-0|253:0|LVM-a|a|dm-1|1|0||\ndm-1|253:1|LVM-b|b|dm-0|1|0||")
    [row] = filesystems("/dev/mapper/a /pg xfs rw 0 0", "", "", tree)
    assert (row["layers"], row["disks"]) == (["LVM"], [])


def test_a_tree_that_no_machine_has_is_not_followed():
    tree = devices("\n".join(f"dm-{part}|253:{part}|LVM|n{part}|dm-{part + 1}||||" for part in range(1000)))
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
        ("zram0", 262_144, None),
    ]
    assert (rows[0]["scheduler"], rows[1]["scheduler"], rows[0]["model"]) == ("none", "mq-deadline", "FAST 1T")


@pytest.mark.parametrize(
    ("name", "model"),
    [("vda", ""), ("sda", "QEMU\\x20HARDDISK"), ("sda", "Virtual disk"), ("nvme0n1", "nvme_card-pd"), ("zram0", "")],
)
def test_a_disk_that_is_made_up_is_not_said_to_rotate_or_not(name, model):
    [disk] = block_devices(LSBLK.format(name, 1, model), {})
    assert disk["is_virtual"] and "is_rotational" not in disk


@pytest.mark.parametrize("flag", ["", "x", "2"])
def test_a_flag_that_is_none_is_no_claim(flag):
    [disk] = block_devices(LSBLK.format("sda", flag, "A"), {})
    assert "is_rotational" not in disk and "is_virtual" not in disk
