"""Lists of files: in order, without following links, and compared with what a snapshot contains."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from stead.node.snapshots.known_hashes import SETTLED_NS, KnownHashes
from stead.node.snapshots.tree_scan import (
    Check,
    Entry,
    Key,
    ScanFailed,
    ScanStopped,
    TreeScan,
    compare,
    decode,
    hash_content,
)

LONG_AGO = 1_000_000_000 * 10**9


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "a" / "deep").mkdir(parents=True)
    (root / "a" / "deep" / "x").write_bytes(b"x" * 5000)
    (root / "a.b").write_text("sorted after the directory a")
    (root / os.fsdecode(b"odd\xff\n\\n name")).write_text("odd")
    (root / "link").symlink_to("/etc")
    os.mkfifo(root / "pipe")
    for path in (root, *root.rglob("*")):
        os.utime(path, ns=(LONG_AGO, LONG_AGO), follow_symlinks=False)
    return root


def scan(root: Path) -> list[Entry]:
    return list(TreeScan(root).entries())


def listed(root: Path) -> list[Entry]:
    return [decode(entry.encode()) for entry in scan(root) if entry.key]


def test_entries_are_in_order_and_survive_being_written_down(tree: Path) -> None:
    keys = [entry.key for entry in scan(tree)]
    assert keys == sorted(keys)
    assert [entry.path for entry in listed(tree)] == [
        b"a",
        b"a/deep",
        b"a/deep/x",
        b"a.b",
        b"link",
        b"odd\xff\n\\n name",
    ]


def test_the_same_files_are_no_difference(tree: Path) -> None:
    result = compare(listed(tree), scan(tree), time.time_ns())
    assert (result.damaged, result.changed_meanwhile, result.files) == (None, 0, 3)


@pytest.mark.parametrize("change", ["content", "mode", "missing", "unexpected", "kind", "directory"])
def test_a_difference_that_nobody_made_meanwhile_is_damage(tree: Path, change: str) -> None:
    before, path = listed(tree), tree / "a" / "deep" / "x"
    if change == "content":
        path.write_bytes(b"y" * 5000)
    elif change == "mode":
        path.chmod(0o600)
    elif change == "missing":
        path.unlink()
    elif change == "unexpected":
        path.with_name("y").touch()
    elif change == "kind":
        path.unlink()
        path.symlink_to("x")
    else:
        path.unlink()
        path.parent.rmdir()
    for each in (tree, *tree.rglob("*")):
        os.utime(each, ns=(LONG_AGO, LONG_AGO), follow_symlinks=False)
    damaged = compare(before, scan(tree), LONG_AGO + 1).damaged
    assert damaged is not None
    assert damaged.startswith(b"a/deep")


def test_what_was_changed_made_or_removed_meanwhile_may_differ(tree: Path) -> None:
    before, began = listed(tree), time.time_ns() - 10**9
    (tree / "a" / "deep" / "x").write_bytes(b"another")
    new = tree / "a" / "new"
    new.mkdir()
    (new / "old.jpg").write_text("unpacked with an old time")
    os.utime(new / "old.jpg", ns=(LONG_AGO, LONG_AGO))
    os.utime(new, ns=(LONG_AGO, LONG_AGO))
    (tree / "a.b").unlink()
    result = compare(before, scan(tree), began)
    assert (result.damaged, result.changed_meanwhile) == (None, 4)


def test_a_change_meanwhile_excuses_no_other_directory(tree: Path) -> None:
    before, began = listed(tree), time.time_ns() - 10**9
    (tree / "a.b").unlink()
    found = [entry for entry in scan(tree) if entry.path != b"a/deep/x"]
    assert compare(before, found, began).damaged == b"a/deep/x"


def test_names_and_sizes_can_be_compared_without_content(tree: Path) -> None:
    without = [replace(entry, hash=b"") for entry in scan(tree)]
    assert compare(listed(tree), without, LONG_AGO + 1, hashes=False).damaged is None
    shorter = [replace(entry, size=1) if entry.path == b"a.b" else entry for entry in without]
    assert compare(listed(tree), shorter, LONG_AGO + 1, hashes=False).damaged == b"a.b"


def test_files_that_have_not_changed_are_not_read_again(tree: Path, tmp_path: Path) -> None:
    def hash_all() -> tuple[list[Entry], int]:
        with KnownHashes(tmp_path / "hashes") as known:
            return list(TreeScan(tree, known.hash_file).entries()), known.read_bytes

    first, read = hash_all()
    assert read > 5000
    _, again = hash_all()
    assert again == read, "what has changed a moment ago is not remembered"
    until = time.time_ns() + SETTLED_NS + 10**8
    while time.time_ns() < until:
        time.sleep(0.1)
    hash_all()
    assert hash_all() == (first, 0)
    path = tree / "a" / "deep" / "x"
    path.write_bytes(b"z" * 5000)
    os.utime(path, ns=(LONG_AGO, LONG_AGO))
    changed, read = hash_all()
    assert (read, changed != first) == (5000, True)


def test_a_list_of_hashes_that_is_broken_is_not_used(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "hashes").write_bytes(b"\0\xff not a list\n")
    with KnownHashes(tmp_path / "hashes") as known:
        assert list(TreeScan(tree, known.hash_file).entries()) == scan(tree)


def test_files_that_seem_larger_than_allowed_are_refused_before_they_are_read(tree: Path) -> None:
    os.truncate(tree / "a.b", 1 << 40)
    with pytest.raises(ScanFailed, match="more than 64 MB"):
        list(TreeScan(tree, max_bytes=64 << 20).entries())


def test_a_scan_can_be_stopped_in_the_middle_of_a_file(tree: Path) -> None:
    def stop_and_read(key: Key, status: os.stat_result, directory: int, check: Check) -> bytes:
        scanning.stopped = True
        return hash_content(key, status, directory, check)

    scanning = TreeScan(tree, stop_and_read)
    with pytest.raises(ScanStopped):
        list(scanning.entries())
    assert scanning.files == 0


def test_a_file_that_grows_is_read_as_far_as_it_was_known(tree: Path) -> None:
    before, path = scan(tree), tree / "a" / "deep" / "x"
    status, folder = path.stat(), os.open(path.parent, os.O_RDONLY)
    try:
        with path.open("ab") as file:
            file.write(b"more")
        digest = hash_content((b"a", b"deep", b"x"), status, folder, lambda: None)
    finally:
        os.close(folder)
    assert digest in {entry.hash for entry in before if entry.path == b"a/deep/x"}
