"""How large a tree or an archive may be."""

from dataclasses import dataclass

MiB = 1 << 20
GiB = 1 << 30
MAX_FILE_BYTES = 8 * GiB - 1
"""The largest number in the size field of a tar header."""
ENTRY_BYTES = 4096
"""What a file or directory takes on a disk besides its content: a file of one byte fills a whole block."""


def unpacked_bytes(content: int, entries: int) -> int:
    """How much space a tree takes where it is unpacked."""
    return content + entries * ENTRY_BYTES


@dataclass(frozen=True, slots=True)
class SizeLimits:
    total_bytes: int = 4 * GiB
    file_bytes: int = 2 * GiB
    entries: int = 200_000
    """Files and directories, including directories that only the name of another entry implies."""
    depth: int = 64
    path_bytes: int = 1024
    ratio: int | None = None
    """How many times larger an archive may become when it is unpacked. Checked from `ratio_from` bytes on."""
    ratio_from: int = 64 * MiB
    unpacked_bytes: int | None = None
    """How much space the tree may take, as `unpacked_bytes` counts it."""

    def __post_init__(self) -> None:
        if not 0 <= self.file_bytes <= MAX_FILE_BYTES:
            raise ValueError(f"a file is at most {MAX_FILE_BYTES} bytes long")

    def expands_too_much(self, packed: int, unpacked: int) -> bool:
        return self.ratio is not None and unpacked > max(self.ratio_from, self.ratio * packed)


LAYER = SizeLimits(ratio=200)
"""For layers. Without a ratio, a small download could fill the disk of a node."""

UPLOAD = SizeLimits(total_bytes=2 * GiB, file_bytes=1 * GiB, entries=100_000, ratio=200)
