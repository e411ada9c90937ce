"""How much a tree or an archive may be."""

from dataclasses import dataclass

MiB = 1 << 20
GiB = 1 << 30
MAX_FILE_BYTES = 8 * GiB - 1
"""What the size field of a tar header holds."""


@dataclass(frozen=True, slots=True)
class SizeLimits:
    total_bytes: int = 4 * GiB
    file_bytes: int = 2 * GiB
    entries: int = 200_000
    """Files and directories, also those that are only implied by the name of another."""
    depth: int = 64
    path_bytes: int = 1024
    ratio: int | None = None
    """How many times larger an archive may become, asked once `ratio_from` bytes came out of it."""
    ratio_from: int = 64 * MiB

    def __post_init__(self) -> None:
        if not 0 <= self.file_bytes <= MAX_FILE_BYTES:
            raise ValueError(f"a file is at most {MAX_FILE_BYTES} bytes long")


LAYER = SizeLimits()
"""A layer is ours and signed: however well it was compressed, its own limits bound it."""

UPLOAD = SizeLimits(total_bytes=2 * GiB, file_bytes=1 * GiB, entries=100_000, ratio=200)
