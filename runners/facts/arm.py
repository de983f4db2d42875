"""Names of ARM cores by the numbers of implementer and part that the core itself holds (MIDR)."""

from __future__ import annotations

# By the manufacturers' reference manuals; those of servers and of boards on which PostgreSQL is run.
PARTS = {
    0x41: {
        0xB36: "ARM1136", 0xB56: "ARM1156", 0xB76: "ARM1176",
        0xC07: "Cortex-A7", 0xC08: "Cortex-A8", 0xC09: "Cortex-A9", 0xC0D: "Cortex-A17", 0xC0F: "Cortex-A15",
        0xD03: "Cortex-A53", 0xD04: "Cortex-A35", 0xD05: "Cortex-A55", 0xD07: "Cortex-A57", 0xD08: "Cortex-A72",
        0xD09: "Cortex-A73", 0xD0A: "Cortex-A75", 0xD0B: "Cortex-A76", 0xD0C: "Neoverse-N1", 0xD0D: "Cortex-A77",
        0xD40: "Neoverse-V1", 0xD41: "Cortex-A78", 0xD44: "Cortex-X1", 0xD46: "Cortex-A510", 0xD47: "Cortex-A710",
        0xD48: "Cortex-X2", 0xD49: "Neoverse-N2", 0xD4A: "Neoverse-E1", 0xD4D: "Cortex-A715", 0xD4E: "Cortex-X3",
        0xD4F: "Neoverse-V2", 0xD80: "Cortex-A520", 0xD81: "Cortex-A720", 0xD82: "Cortex-X4", 0xD84: "Neoverse-V3",
        0xD85: "Cortex-X925", 0xD87: "Cortex-A725", 0xD8E: "Neoverse-N3",
    },
    0x43: {0x0A1: "ThunderX", 0x0AF: "ThunderX2"},
    0x46: {0x001: "A64FX"},
    0x48: {0xD01: "Kunpeng-920"},
    0x50: {0x000: "X-Gene"},
    0x51: {0xC00: "Falkor"},
    0x61: {0x022: "Icestorm", 0x023: "Firestorm"},
    0x70: {0x662: "FTC662", 0x663: "FTC663"},
    0xC0: {0xAC3: "Ampere-1", 0xAC4: "Ampere-1a"},
}  # fmt: skip


def core_name(implementer: int, part: int) -> str:
    """Return the name of a core; one that is not in the table keeps its numbers."""
    return PARTS.get(implementer, {}).get(part) or f"implementer 0x{implementer:02x} part 0x{part:03x}"


def core_name_of_midr(midr: str) -> str:
    """Return the name of the core in whose register this stands, as sysfs prints it; empty for any other text."""
    try:
        number = int(midr, 16) if len(midr) <= 18 else 0
    except ValueError:
        return ""
    return core_name(number >> 24 & 0xFF, number >> 4 & 0xFFF) if number > 0 else ""
