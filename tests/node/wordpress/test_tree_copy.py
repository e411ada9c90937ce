"""The files of a customer are copied by root, without following a link and without a hard link."""

import asyncio
import os
from pathlib import Path

import pytest

from stead.node.wordpress import tree_copy
from stead.node.wordpress.tree_copy import MAX_DEPTH, CopyFailed, CopyStopped, TreeCopy

OWNER = 54321


@pytest.fixture
def source(tmp_path: Path) -> Path:
    top = tmp_path / "source"
    for path, content in {
        "index.php": b"<?php",
        "uploads/2024/05/photo.jpg": bytes(range(256)) * 5000,
        "plugins/shop/shop.php": b"<?php // shop",
    }.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_bytes(content)
    return top


def _copy(source: Path, **options: object) -> TreeCopy:
    return TreeCopy(source, source.with_name("target"), OWNER, **options)  # type: ignore[arg-type]


def _content(top: Path) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}


def test_more_names_than_a_copy_can_have_are_refused(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a small limit: hard links need no space, so a small disk can have millions of names."""
    monkeypatch.setattr(tree_copy, "MAX_FILES", 10)
    for number in range(10):
        os.link(source / "index.php", source / f"{number}.php")
    with pytest.raises(CopyFailed, match="more than 10 files"):
        _copy(source).measure()


def test_files_have_the_same_content_time_and_mode_and_belong_to_the_new_owner(source: Path) -> None:
    (source / "index.php").chmod(0o6640)
    os.utime(source / "index.php", ns=(1, 1_600_000_000_123_456_789))
    os.link(source / "index.php", source / "linked.php")
    copy = _copy(source)
    assert (copy.measure().files, copy.measure().bytes) == (4, sum(map(len, _content(source).values())))
    copy.run()
    assert _content(copy.target) == _content(source)
    status = (copy.target / "index.php").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (OWNER, OWNER, 0o640)
    assert (status.st_mtime_ns, status.st_nlink) == (1_600_000_000_123_456_789, 1)
    assert (copy.target / "uploads").stat().st_uid == OWNER
    (copy.target / "index.php").write_bytes(b"changed")
    assert (source / "index.php").read_bytes() == b"<?php"


def test_links_are_copied_as_links_and_never_followed(source: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("of the node")
    (source / "file").symlink_to(secret / "key")
    (source / "uploads" / "directory").symlink_to(secret)
    (source / "dangling").symlink_to("nowhere")
    os.mkfifo(source / "pipe")
    copy = _copy(source)
    copy.run()
    copy.run()
    assert (copy.target / "file").readlink() == secret / "key"
    assert (copy.target / "uploads" / "directory").readlink() == secret
    assert (copy.target / "file").lstat().st_uid == OWNER
    assert secret.stat().st_uid != OWNER
    assert (secret / "key").stat().st_uid != OWNER
    assert not (copy.target / "pipe").exists()


async def test_a_directory_that_becomes_a_link_during_the_copy_is_not_followed(
    source: Path, tmp_path: Path
) -> None:
    """As fast as it can, a site exchanges a directory for a link to the files of another one."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("of the node")
    (source / "a").mkdir()
    (source / "a" / "own").write_text("own")
    for number in range(50):
        (source / f"filler-{number}").write_bytes(bytes(100))
    (source / "link").symlink_to(secret)
    ended = False

    def exchange() -> None:
        while not ended:
            (source / "a").rename(source / "moved")
            (source / "link").rename(source / "a")
            (source / "a").rename(source / "link")
            (source / "moved").rename(source / "a")

    exchanging = asyncio.create_task(asyncio.to_thread(exchange))
    for number in range(60):
        copy = TreeCopy(source, source.with_name(f"target-{number}"), OWNER)
        await asyncio.to_thread(copy.run)
        assert not [path for path in copy.target.rglob("key") if not path.parent.is_symlink()]
    ended = True
    await exchanging


def test_a_second_run_copies_what_has_changed_and_replaces_what_is_of_another_kind(source: Path) -> None:
    (source / "was-file").write_text("file")
    (source / "was-directory" / "below").mkdir(parents=True)
    (source / "was-link").symlink_to("x")
    copy = _copy(source)
    copy.run()
    copied = copy.bytes
    (source / "new.txt").write_text("new")
    (source / "index.php").write_bytes(b"<?php // two")
    (source / "was-file").unlink()
    (source / "was-file").mkdir()
    (source / "was-directory" / "below").rmdir()
    (source / "was-directory").rmdir()
    (source / "was-directory").write_text("file")
    (source / "was-link").unlink()
    (source / "was-link").write_text("file")
    copy.run()
    assert _content(copy.target) == _content(source)
    assert (copy.target / "was-file").is_dir()
    assert copy.bytes - copied < 100


def test_a_directory_that_is_left_out_is_made_and_empty(source: Path) -> None:
    copy = _copy(source, left_out=("uploads",))
    assert copy.measure().files == 2
    copy.run()
    assert list((copy.target / "uploads").iterdir()) == []
    assert (copy.target / "plugins" / "shop" / "shop.php").exists()


def test_a_sparse_file_stays_sparse(source: Path) -> None:
    with (source / "sparse").open("wb") as file:
        file.truncate(1 << 40)
        file.seek(1 << 30)
        file.write(b"in the middle")
    copy = _copy(source)
    assert copy.measure().bytes < 10 << 20
    copy.run()
    status = (copy.target / "sparse").stat()
    assert (status.st_size, status.st_blocks * 512 < 10 << 20) == (1 << 40, True)
    with (copy.target / "sparse").open("rb") as file:
        file.seek(1 << 30)
        assert file.read(13) == b"in the middle"


def test_directories_that_are_too_deep_and_a_copy_that_was_stopped_end_the_copy(source: Path) -> None:
    copy = _copy(source)
    copy.stopped = True
    with pytest.raises(CopyStopped):
        copy.run()
    here = source
    for _ in range(MAX_DEPTH + 1):
        here = here / "d"
        here.mkdir()
    with pytest.raises(CopyFailed, match="levels"):
        _copy(source).run()
