"""The compilers of the image `functions` as programs of this machine."""

import os
import shlex
import stat
import tempfile
from pathlib import Path

from stead.node.images.image_store import ImageStore
from stead.node.images.recipes import ZIG
from stead_cli.function_build import TOOLCHAIN

_PROGRAMS = {name: f"/usr/bin/{name}" for name in ("clang", "rustc", "wasm-ld", "go")}
_PROGRAMS["zig"] = f"{ZIG}/zig"
_SCRIPT = """#!/bin/sh
exec unshare --mount /bin/sh -euc '
mount -t overlay overlay -o {overlay} {root}
for place in {shared}; do mkdir -p {root}/$place; mount --rbind $place {root}/$place; done
exec chroot {root} /bin/sh -c "cd \\"\\$0\\" && exec \\"\\$@\\"" "$PWD" env PATH=/usr/bin:/bin {program} "$@"
' sh "$@"
"""


def write_programs(folder: Path, without: str = "") -> Path:
    """The folder with the programs. Each sees the image, except for one path of it, the files of tests and
    the toolchain, in a mount namespace that ends with it."""
    image = ImageStore().ensure("functions").root
    places = {name: folder / name for name in ("upper", "work", "root", "bin")}
    for place in places.values():
        place.mkdir(parents=True)
    if without:
        hidden = places["upper"] / without
        hidden.parent.mkdir(parents=True)
        # This is how an overlay knows that something was removed.
        os.mknod(hidden, stat.S_IFCHR, os.makedev(0, 0))
    overlay = f"lowerdir={image},upperdir={places['upper']},workdir={places['work']}"
    shared = " ".join(("/proc", "/dev", tempfile.gettempdir(), str(TOOLCHAIN)))
    for name, program in _PROGRAMS.items():
        file = places["bin"] / name
        file.write_text(
            _SCRIPT.format(overlay=shlex.quote(overlay), root=places["root"], shared=shared, program=program)
        )
        file.chmod(0o755)
    return places["bin"]
