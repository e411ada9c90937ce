"""The store of infected files of one environment. Moving a file there is reversible, and survives a crash.

A file is moved in three steps. It is renamed into a directory of the same disk that only root can enter: from
then on nobody uses it. There it is compared with what was found. Then its content is copied to the store, and
removed from the disk. So it is never missing from both places. Whoever repeats the work continues where it
stopped. In the store, every byte is changed, so that other scanners do not find it there again.

If the store has no room for a file, it stays in that directory of the site's own disk, where nobody can use
it either: whoever fills the store must not keep malware active. If nothing can be written at all, it has no
description; who restores it knows where it was.

A file that the site needs is replaced by a copy that is known to be good, if there is one.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from stead.node.drivers.layout import sync_directory, write_file
from stead.node.scanning.paths import FileTooLarge, PathRefused, hash_file, open_directory, to_key

MAX_STORE_BYTES = 256 << 20
"""For all files of an environment: the disk of the node is shared."""
MAX_STORED_FILES = 2000
"""Of an environment: small ones would need more names than the disk of the node has."""
MAX_FILE_BYTES = 64 << 20
_MASK = bytes(255 - each for each in range(256))
_CHUNK = 1 << 20


class Quarantined(msgspec.Struct, frozen=True):
    """What is written beside a stored file."""

    detection: str
    path: str
    sha256: str
    signature: str
    scan: str
    uid: int = 0
    gid: int = 0
    mode: int = 0
    accessed_ns: int = 0
    modified_ns: int = 0
    size: int = 0
    attributes: dict[str, bytes] = {}
    staged: bool = False
    """Whether the content is on the disk of the site, because the store has no room for it."""
    replaced: str = ""
    """The hash of the good file that is in its place, if there is one."""


class QuarantineFailed(Exception):
    """The file is where it was. The message says why."""


class _NoRoom(Exception):
    """The store cannot take the file."""


class FileGone(QuarantineFailed):
    """The file is not there any more, or has another content."""


@dataclass(frozen=True)
class Quarantine:
    """`store` is the directory of the environment in the store of the node, `content` its `wp-content`, and
    `staging` a directory on the same disk."""

    store: Path
    content: Path
    staging: Path
    prefix: str = "wp-content"
    is_short: Callable[[], bool] = lambda: False
    """Whether the node has no room for the store."""

    def isolate(self, wanted: Quarantined, good: Path | None = None) -> Quarantined:
        """Move the file to the store. `wanted` needs the fields up to `scan`. `good` is a file to put in its
        place. Raises QuarantineFailed."""
        done = self.find(wanted.detection)
        if done is None:
            self._prepare()
            staged = self._staged(wanted.detection)
            if not staged.exists():
                self._withdraw(wanted, staged)
            try:
                described = self._describe(wanted, staged)
                if good is not None:
                    described = msgspec.structs.replace(described, replaced=_hash(good))
                done = self._store(described, staged)
            except QuarantineFailed:
                self._put_back(wanted, staged)
                raise
            sync_directory(self.staging)
        if not done.staged:
            self._staged(wanted.detection).unlink(missing_ok=True)
        if good is not None:
            self._replace(done, good)
        return done

    def _store(self, described: Quarantined, staged: Path) -> Quarantined:
        """The file is in the store with its description; or it stays where it is, described in the store, on
        its disk, or nowhere, wherever there is room."""
        stays = msgspec.structs.replace(described, staged=True)
        is_crowded = self.is_short() or sum(1 for _ in self.store.glob("*.json")) >= MAX_STORED_FILES
        if not is_crowded:
            with suppress(_NoRoom):
                self._copy_in(described, staged)
                if _write_facts(self._facts(described.detection), described):
                    return described
                self._content(described.detection).unlink(missing_ok=True)
            if _write_facts(self._facts(described.detection), stays):
                return stays
        _write_facts(self._staged_facts(described.detection), stays)
        return stays

    def _replace(self, done: Quarantined, good: Path) -> None:
        """Unless there is a new file in its place."""
        fresh = self.staging / f"{done.detection}.good"
        fresh.unlink(missing_ok=True)
        try:
            with good.open("rb") as source, fresh.open("xb") as copy:
                shutil.copyfileobj(source, copy)
                os.fchown(copy.fileno(), done.uid, done.gid)
                os.fchmod(copy.fileno(), done.mode & 0o777)
                copy.flush()
                os.fsync(copy.fileno())
            with self._parent(done.path) as (directory, name), suppress(FileExistsError):
                os.link(fresh, name, dst_dir_fd=directory, follow_symlinks=False)
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise QuarantineFailed(f"the good file cannot be written to the site ({reason})") from None
        finally:
            fresh.unlink(missing_ok=True)

    def find(self, detection: str) -> Quarantined | None:
        for facts in (self._facts(detection), self._staged_facts(detection)):
            with suppress(FileNotFoundError, msgspec.MsgspecError):
                return msgspec.json.decode(facts.read_bytes(), type=Quarantined)
        return None

    def list_held(self) -> tuple[str, ...]:
        """The detections whose files are here, and not in the site."""
        stored = {file.stem for file in self.store.glob("det_*.json")}
        staged = {file.name for file in self.staging.glob("det_*") if "." not in file.name}
        return tuple(sorted(stored | staged))[:2000]

    def restore(self, detection: str, path: str = "") -> Quarantined:
        """Put the file back where it was. `path` is for a file without a description. Raises
        QuarantineFailed, and the file is still in the store."""
        found = self.find(detection) or self._describe_staged(detection, path)
        if found is None:
            raise FileGone("the file is not in the store of this node")
        self._prepare()
        fresh = self.staging / f"{detection}.restoring"
        fresh.unlink(missing_ok=True)
        with self._parent(found.path) as (directory, name):
            if _holds(directory, name, found):
                # An attempt that was interrupted has restored it.
                self.forget(detection)
                return found
            if found.staged:
                self._check_staged(found)
                _link(self._staged(detection), directory, name, found.replaced)
            else:
                try:
                    self._copy_out(found, fresh)
                    _link(fresh, directory, name, found.replaced)
                finally:
                    fresh.unlink(missing_ok=True)
            os.fsync(directory)
        self.forget(detection)
        return found

    def _describe_staged(self, detection: str, path: str) -> Quarantined | None:
        """A file that was withdrawn, and not described before the work was interrupted."""
        staged = self._staged(detection)
        with suppress(OSError):
            status = staged.lstat()
            if stat.S_ISREG(status.st_mode):
                mode = stat.S_IMODE(status.st_mode) & 0o777
                digest = _hash(staged)
                return Quarantined(
                    detection, path, digest, "", "", mode=mode, size=status.st_size, staged=True
                )
        return None

    def _check_staged(self, found: Quarantined) -> None:
        """It is linked as it is, except that no file gets the rights of another user."""
        staged = self._staged(found.detection)
        try:
            staged.chmod(found.mode & 0o777)
            damaged = _hash(staged) != found.sha256
        except OSError as error:
            raise QuarantineFailed(f"the file cannot be read ({os.strerror(error.errno or 0)})") from None
        if damaged:
            raise QuarantineFailed("the file in the store is damaged")

    def forget(self, detection: str) -> None:
        # First the second name of a file that was only linked: it would count as held. Then the description:
        # without it, the content is not a file of the store.
        self._staged(detection).unlink(missing_ok=True)
        self._facts(detection).unlink(missing_ok=True)
        self._staged_facts(detection).unlink(missing_ok=True)
        self._content(detection).unlink(missing_ok=True)

    def remove(self) -> None:
        shutil.rmtree(self.store, ignore_errors=True)

    def _facts(self, detection: str) -> Path:
        return self.store / f"{detection}.json"

    def _staged_facts(self, detection: str) -> Path:
        return self.staging / f"{detection}.json"

    def _content(self, detection: str) -> Path:
        return self.store / f"{detection}.data"

    def _staged(self, detection: str) -> Path:
        return self.staging / detection

    def _prepare(self) -> None:
        for directory in (self.store, self.staging):
            try:
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                directory.chmod(0o700)
            except OSError as error:
                reason = os.strerror(error.errno or 0)
                raise QuarantineFailed(f"the store cannot be made ({reason})") from None

    def _withdraw(self, wanted: Quarantined, staged: Path) -> None:
        with self._parent(wanted.path) as (directory, name):
            try:
                status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                if not stat.S_ISREG(status.st_mode):
                    raise FileGone("the file was replaced by something else")
                os.rename(name, staged, src_dir_fd=directory)
            except FileNotFoundError:
                raise FileGone("the file is not there any more") from None
            os.fsync(directory)

    def _describe(self, wanted: Quarantined, staged: Path) -> Quarantined:
        """Check that it is what was found: it may have been changed or replaced since."""
        status = staged.lstat()
        try:
            is_same = stat.S_ISREG(status.st_mode) and _hash(staged) == wanted.sha256
        except FileTooLarge:
            is_same = False
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise QuarantineFailed(f"the file cannot be read ({reason})") from None
        if not is_same:
            raise FileGone("the file was changed since it was scanned")
        return msgspec.structs.replace(
            wanted,
            uid=status.st_uid,
            gid=status.st_gid,
            mode=stat.S_IMODE(status.st_mode) & 0o777,
            accessed_ns=status.st_atime_ns,
            modified_ns=status.st_mtime_ns,
            size=status.st_size,
            attributes=_read_attributes(staged),
        )

    def _used_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.store.glob("*.data"))

    def _copy_in(self, described: Quarantined, staged: Path) -> None:
        """Raises _NoRoom; or FileGone if somebody still writes to the file."""
        is_large = described.size > MAX_FILE_BYTES
        if is_large or self._used_bytes() + described.size > MAX_STORE_BYTES:
            raise _NoRoom
        made = hashlib.sha256()
        target = self._content(described.detection)
        temporary = target.with_suffix(".new")
        try:
            with staged.open("rb") as source, temporary.open("wb") as copy:
                os.fchmod(copy.fileno(), 0o000)
                while piece := source.read(_CHUNK):
                    made.update(piece)
                    copy.write(piece.translate(_MASK))
                    if copy.tell() > described.size:
                        break
                copy.flush()
                os.fsync(copy.fileno())
            if made.hexdigest() == described.sha256:
                temporary.rename(target)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise _NoRoom from None
        if made.hexdigest() != described.sha256:
            temporary.unlink(missing_ok=True)
            raise FileGone("the file was changed since it was scanned")

    def _copy_out(self, found: Quarantined, fresh: Path) -> None:
        made = hashlib.sha256()
        try:
            with self._content(found.detection).open("rb") as source, fresh.open("xb") as copy:
                while piece := source.read(_CHUNK):
                    content = piece.translate(_MASK)
                    made.update(content)
                    copy.write(content)
                copy.flush()
                os.fchown(copy.fileno(), found.uid, found.gid)
                os.fchmod(copy.fileno(), found.mode & 0o777)
                for name, value in found.attributes.items():
                    with suppress(OSError):
                        os.setxattr(copy.fileno(), name, value)
                os.utime(copy.fileno(), ns=(found.accessed_ns, found.modified_ns))
                os.fsync(copy.fileno())
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise QuarantineFailed(f"the file cannot be written to the site ({reason})") from None
        if made.hexdigest() != found.sha256:
            raise QuarantineFailed("the file in the store is damaged")

    def _put_back(self, wanted: Quarantined, staged: Path) -> None:
        """It is not what was found, so the site has it again. If there is a new file in its place, it stays
        here, and can be restored."""
        with suppress(QuarantineFailed, OSError), self._parent(wanted.path) as (directory, name):
            os.link(staged, name, dst_dir_fd=directory, follow_symlinks=False)
            os.fsync(directory)
            staged.unlink()

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, bytes]]:
        """The directory of a file, reached without following links. Raises QuarantineFailed."""
        try:
            prefix, *key = to_key(path)
        except PathRefused:
            raise QuarantineFailed("the path is not one of the site") from None
        if prefix != self.prefix.encode() or not key:
            raise QuarantineFailed("the path is not one of the site")
        directory = open_directory(self.content)
        try:
            for name in key[:-1]:
                below = open_directory(name, directory)
                os.close(directory)
                directory = below
            yield directory, key[-1]
        except (FileNotFoundError, NotADirectoryError):
            raise FileGone("the directory of the file is not there any more") from None
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise QuarantineFailed(f"the directory of the file cannot be used ({reason})") from None
        finally:
            os.close(directory)


def _holds(directory: int, name: bytes, found: Quarantined) -> bool:
    """Whether the file is already there, with its content."""
    return _hash_at(directory, name) == found.sha256


def _hash_at(directory: int, name: bytes) -> str:
    """Empty if it is no file that can be read."""
    with suppress(OSError):
        descriptor = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory
        )
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return hash_file(file)
    return ""


def _link(fresh: Path, directory: int, name: bytes, replaced: str) -> None:
    """A new file in its place is never replaced, except for the good one that was put there."""
    try:
        os.link(fresh, name, dst_dir_fd=directory, follow_symlinks=False)
    except FileExistsError:
        if not replaced or _hash_at(directory, name) != replaced:
            raise QuarantineFailed("there is another file in its place") from None
        os.rename(fresh, name, dst_dir_fd=directory)


def _write_facts(file: Path, facts: Quarantined) -> bool:
    """Whether there was room for it."""
    try:
        write_file(file, msgspec.json.encode(facts), mode=0o600)
    except OSError:
        return False
    return True


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hash_file(file)


def _read_attributes(path: Path) -> dict[str, bytes]:
    """Only those that the site itself can set."""
    with suppress(OSError):
        names = [name for name in os.listxattr(path, follow_symlinks=False) if name.startswith("user.")]
        return {name: os.getxattr(path, name, follow_symlinks=False) for name in names[:16]}
    return {}
