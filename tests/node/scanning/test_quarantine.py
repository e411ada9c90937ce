"""Files are moved to the store and back, and are never missing from both places, wherever the work stops."""

import dataclasses
import errno
import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from stead.node.scanning import quarantine as module
from stead.node.scanning.quarantine import FileGone, Quarantine, Quarantined, QuarantineFailed

CONTENT = b"<?php eval($_POST['x']);"
PATH = "wp-content/uploads/a/shell.php"


@pytest.fixture
def store(tmp_path: Path) -> Quarantine:
    (tmp_path / "disk" / "wp-content" / "uploads" / "a").mkdir(parents=True)
    made = Quarantine(tmp_path / "store", tmp_path / "disk" / "wp-content", tmp_path / "disk" / "quarantine")
    _file(made).write_bytes(CONTENT)
    _file(made).chmod(0o604)
    os.utime(_file(made), ns=(5, 10**18 + 7))
    return made


def _file(store: Quarantine) -> Path:
    return store.content / "uploads" / "a" / "shell.php"


def _wanted(detection: str = "det_1", path: str = PATH, content: bytes = CONTENT) -> Quarantined:
    return Quarantined(detection, path, hashlib.sha256(content).hexdigest(), "rule", "scan_1")


def _is_stored(store: Quarantine) -> bool:
    return store.find("det_1") is not None or (store.staging / "det_1").exists()


def test_a_file_is_stored_unreadably_and_restored_exactly(store: Quarantine) -> None:
    before = _file(store).stat()
    stored = store.isolate(_wanted())
    assert not _file(store).exists()
    assert (stored.mode, stored.signature, stored.scan) == (0o604, "rule", "scan_1")
    assert CONTENT not in (store.store / "det_1.data").read_bytes()
    assert store.list_held() == ("det_1",)
    assert store.isolate(_wanted()) == stored
    store.restore("det_1")
    after = _file(store).stat()
    assert _file(store).read_bytes() == CONTENT
    assert (after.st_mode, after.st_mtime_ns, after.st_uid) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_uid,
    )
    assert store.list_held() == ()


def test_a_file_with_holes_that_is_larger_than_the_disk_is_not_read(store: Quarantine) -> None:
    store.isolate(_wanted())
    with _file(store).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(QuarantineFailed, match="another file"):
        store.restore("det_1")
    with pytest.raises(FileGone, match="changed"):
        store.isolate(_wanted("det_2"))
    assert _file(store).stat().st_size == 1 << 40


@pytest.mark.parametrize(
    "stopped_at", ["_describe", "_copy_in", "sync_directory", "write_file", "rename", "_hash", "unlink"]
)
def test_work_that_stops_anywhere_leaves_the_file_in_one_place_and_can_be_repeated(
    store: Quarantine, monkeypatch: pytest.MonkeyPatch, stopped_at: str
) -> None:
    class Stopped(BaseException):
        pass

    def stop(*_: object, **__: object) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        if hasattr(Quarantine, stopped_at):
            patch.setattr(Quarantine, stopped_at, stop)
        elif stopped_at in ("rename", "unlink"):
            patch.setattr(Path, stopped_at, stop)
        else:
            patch.setattr(module, stopped_at, stop)
        with pytest.raises(Stopped):
            store.isolate(_wanted())
    assert _file(store).exists() != _is_stored(store)
    store.isolate(_wanted())
    assert not _file(store).exists()
    assert store.find("det_1") is not None
    assert list(store.staging.iterdir()) == []


def test_a_file_that_was_changed_since_the_scan_stays_where_it_is(store: Quarantine) -> None:
    _file(store).write_bytes(b"something else")
    with pytest.raises(FileGone):
        store.isolate(_wanted())
    assert _file(store).read_bytes() == b"something else"
    assert not _is_stored(store)


def test_a_link_in_the_place_of_a_file_or_directory_leads_nowhere(store: Quarantine, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "shell.php").write_bytes(CONTENT)
    _file(store).unlink()
    _file(store).symlink_to(secret / "shell.php")
    with pytest.raises(FileGone):
        store.isolate(_wanted())
    _file(store).unlink()
    _file(store).parent.rmdir()
    _file(store).parent.symlink_to(secret)
    with pytest.raises(QuarantineFailed):
        store.isolate(_wanted())
    assert (secret / "shell.php").exists()


@pytest.mark.parametrize(
    "path", ["wp-content/../x", "/etc/passwd", "wp-content", "other/a", "wp-content//a", ""]
)
def test_a_path_outside_the_site_is_refused(store: Quarantine, path: str) -> None:
    with pytest.raises(QuarantineFailed):
        store.isolate(_wanted(path=path))


def test_a_restore_never_replaces_a_new_file_and_follows_no_link(store: Quarantine, tmp_path: Path) -> None:
    store.isolate(_wanted())
    _file(store).write_bytes(b"new")
    with pytest.raises(QuarantineFailed, match="another file"):
        store.restore("det_1")
    assert _file(store).read_bytes() == b"new"
    _file(store).unlink()
    _file(store).parent.rmdir()
    (tmp_path / "elsewhere").mkdir()
    _file(store).parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(QuarantineFailed):
        store.restore("det_1")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert store.find("det_1") is not None


@pytest.mark.parametrize("limit", ["MAX_STORE_BYTES", "MAX_FILE_BYTES", "MAX_STORED_FILES"])
def test_a_full_store_keeps_no_malware_active_and_the_file_can_be_restored(
    store: Quarantine, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    before = _file(store).stat()
    monkeypatch.setattr(module, limit, 0)
    assert store.isolate(_wanted()).staged
    assert store.isolate(_wanted()).staged
    assert not _file(store).exists()
    assert store.list_held() == ("det_1",)
    assert store.staging.stat().st_mode & 0o777 == 0o700
    _file(store).write_bytes(b"new")
    with pytest.raises(QuarantineFailed, match="another file"):
        store.restore("det_1")
    _file(store).unlink()
    store.restore("det_1")
    after = _file(store).stat()
    assert _file(store).read_bytes() == CONTENT
    assert (after.st_mode, after.st_mtime_ns, after.st_nlink) == (before.st_mode, before.st_mtime_ns, 1)
    assert store.list_held() == ()


@pytest.mark.parametrize("stopped_at", ["_copy_out", "_link", "forget", "unlink", "chmod"])
@pytest.mark.parametrize("full", ["", "MAX_STORE_BYTES", "MAX_STORED_FILES"])
def test_a_restore_that_stops_anywhere_never_loses_the_file_and_can_be_repeated(
    store: Quarantine, monkeypatch: pytest.MonkeyPatch, stopped_at: str, full: str
) -> None:
    class Stopped(BaseException):
        pass

    def stop(*_: object, **__: object) -> None:
        raise Stopped

    if full:
        monkeypatch.setattr(module, full, 0)
    store.isolate(_wanted())
    with monkeypatch.context() as patch:
        if hasattr(Quarantine, stopped_at):
            patch.setattr(Quarantine, stopped_at, stop)
        elif hasattr(module, stopped_at):
            patch.setattr(module, stopped_at, stop)
        else:
            patch.setattr(Path, stopped_at, stop)
        with suppress(Stopped):
            store.restore("det_1")
    assert _file(store).exists() or store.find("det_1") is not None
    if store.find("det_1") is not None:
        store.restore("det_1")
    assert _file(store).read_bytes() == CONTENT
    assert _file(store).stat().st_nlink == 1
    assert store.list_held() == ()
    assert list(store.staging.iterdir()) == []


def test_a_changed_file_with_a_new_one_in_its_place_can_be_restored(
    store: Quarantine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _file(store).write_bytes(b"changed since the scan")
    describe = Quarantine._describe

    def put_new_file(self: Quarantine, *args: Any) -> Quarantined:
        _file(store).write_bytes(b"new")
        return describe(self, *args)

    monkeypatch.setattr(Quarantine, "_describe", put_new_file)
    with pytest.raises(FileGone):
        store.isolate(_wanted())
    assert store.list_held() == ("det_1",)
    with pytest.raises(QuarantineFailed, match="another file"):
        store.restore("det_1", PATH)
    _file(store).unlink()
    store.restore("det_1", PATH)
    assert _file(store).read_bytes() == b"changed since the scan"
    assert store.list_held() == ()


def test_a_file_that_is_written_while_it_is_copied_stays_where_it_was(
    store: Quarantine, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = Quarantine._used_bytes

    def write_more(self: Quarantine) -> int:
        with (self.staging / "det_1").open("ab") as file:
            file.write(b"more")
        return used(self)

    monkeypatch.setattr(Quarantine, "_used_bytes", write_more)
    with pytest.raises(FileGone, match="changed"):
        store.isolate(_wanted())
    assert _file(store).read_bytes() == CONTENT + b"more"
    assert list(store.store.iterdir()) == []


def test_a_node_without_room_keeps_no_malware_active(
    store: Quarantine, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = dataclasses.replace(store, is_short=lambda: True)
    assert short.isolate(_wanted()).staged
    assert list(store.store.iterdir()) == []
    short.restore("det_1")

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "")

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_file", fail)
        store.isolate(_wanted())
    assert not _file(store).exists()
    assert store.find("det_1") is None
    store.restore("det_1", PATH)
    assert _file(store).read_bytes() == CONTENT


def test_a_good_file_takes_the_place_and_gives_it_back(store: Quarantine, tmp_path: Path) -> None:
    good = tmp_path / "good.php"
    good.write_bytes(b"<?php // good")
    for _ in range(2):
        store.isolate(_wanted(), good)
        assert _file(store).read_bytes() == b"<?php // good"
    assert _file(store).stat().st_mode & 0o777 == 0o604
    _file(store).write_bytes(b"<?php // an update")
    with pytest.raises(QuarantineFailed, match="another file"):
        store.restore("det_1")
    _file(store).write_bytes(b"<?php // good")
    store.restore("det_1")
    assert _file(store).read_bytes() == CONTENT
    assert store.list_held() == ()
    assert list(store.staging.iterdir()) == []
