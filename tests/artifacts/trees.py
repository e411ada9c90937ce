"""Trees as values: write, read and generate them."""

import hashlib
import io
import os
import stat
import unicodedata
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from stead.artifacts.limits import LAYER, SizeLimits
from stead.artifacts.names import fold
from stead.artifacts.packer import PackedLayer, pack_layer


class File(NamedTuple):
    content: bytes
    executable: bool = False


Tree = dict[str, "File | Tree"]


def write(tree: Tree, into: Path, *, backwards: bool = False) -> Path:
    into.mkdir()
    for name, what in sorted(tree.items(), reverse=backwards):
        if isinstance(what, File):
            (into / name).write_bytes(what.content)
            if what.executable:
                (into / name).chmod(0o700)
        else:
            write(what, into / name, backwards=backwards)
    return into


def read(root: Path) -> Tree:
    """Also asserts that there are only files and directories, with one of two modes."""
    tree: Tree = {}
    for path in root.iterdir():
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            assert mode == 0o755
            tree[path.name] = read(path)
        else:
            assert stat.S_ISREG(status.st_mode)
            assert mode in (0o644, 0o755)
            tree[path.name] = File(path.read_bytes(), mode == 0o755)
    return tree


def layer(tree: Path, limits: SizeLimits = LAYER) -> tuple[bytes, PackedLayer]:
    blob = io.BytesIO()
    packed = pack_layer(tree, blob, limits)
    return blob.getvalue(), packed


def everything(root: Path) -> dict[str, bytes | str]:
    """Everything below a directory, without following links."""
    found: dict[str, bytes | str] = {}
    for above, directories, files in os.walk(root):
        for name in directories + files:
            path = Path(above, name)
            key = str(path.relative_to(root))
            if path.is_symlink():
                found[key] = f"-> {path.readlink()}"
            else:
                found[key] = path.read_bytes() if path.is_file() else "directory"
    return found


def _unlike(names: list[str]) -> bool:
    return len({fold(name) for name in names}) == len(names)


names = st.one_of(
    st.sampled_from(
        ["index.html", "a", "b.css", "x" * 120, "ünï.txt", "日本語", "a b", "-n", "Ω", "~", "z" * 255]
    ),
    st.text(
        st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/\\"), min_size=1, max_size=20
    ),
).filter(
    lambda name: name not in (".", "..") and name[1:2] != ":" and len(name.encode()) <= 255,
)
contents = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([0, 1, 511, 512, 513, 5000, 200_000]).map(lambda size: b"x" * size),
)
files = st.builds(File, contents, st.booleans())
_any_trees: st.SearchStrategy[Tree] = st.recursive(
    st.dictionaries(names, files, max_size=4),
    lambda inner: st.dictionaries(names, st.one_of(files, inner), max_size=4),
    max_leaves=12,
)


def _all_unlike(tree: Tree) -> bool:
    return _unlike(list(tree)) and all(_all_unlike(what) for what in tree.values() if isinstance(what, dict))


trees = _any_trees.filter(_all_unlike)


def composed(name: str) -> tuple[str, str]:
    """The same name in two Unicode normalizations."""
    return unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)


def noise(seed: int, size: int) -> bytes:
    """Incompressible bytes that are always the same."""
    return hashlib.shake_128(seed.to_bytes(8, "big")).digest(size)
