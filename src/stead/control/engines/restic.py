"""restic beside the worker: repositories in an object store, read and changed with the store's credentials.

Nodes never come here: they use the repository gateway, which only adds.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec
import structlog

from stead.control.engines.object_store import StoreLocation
from stead.control.engines.transaction_guard import require_no_transaction
from stead.shared.repository_layout import repository_prefix

log = structlog.get_logger()

MAX_OUTPUT = 64 * 1024 * 1024
MAX_ERRORS = 64 * 1024
SHORT_SECONDS = 300.0
LONG_SECONDS = 6 * 3600.0
MEMORY_BYTES = 4 << 30
"""Nodes write compressed files, and a small one may become a large one in memory."""
IDS_AT_ONCE = 500
_LIMITED = ("prlimit", f"--data={MEMORY_BYTES}", "setpriv", "--pdeathsig", "KILL", "--")
"""restic ends with the worker, however that ends: what is not supervised must not delete anything."""


_SIGNS_OF_OUTAGE = (
    *("connection refused", "connection reset", "broken pipe", "timeout", "timed out", "no such host"),
    *("network is unreachable", "no route to host", "service unavailable", "internal error", "slow down"),
    *("500 internal", "502 bad", "503 ", "504 ", "access denied", "access key", "signature we calculated"),
)
_SIGNS_OF_DAMAGE = (
    *("does not exist", "no matching id found", "ciphertext verification", "contains errors"),
    *("not found", "missing in repo", "hash mismatch", "does not match", "invalid data", "be corrupted"),
    *("unable to load", "failed to load", "cannot decode", "invalid character"),
)
_TOO_LARGE = ("out of memory", "cannot allocate memory")
_DAMAGED_PACK = re.compile(r"\bpack ([0-9a-f]{8,64})\b[^\n]* contains \d+ errors")


class ResticFailed(Exception):
    """`reason` is for events and terminals. What restic has said is in the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RepositoryMissing(ResticFailed):
    """There is no repository."""


class PasswordWrong(ResticFailed):
    """The password opens no key of the repository."""


class RepositoryDamaged(ResticFailed):
    """restic found a file that is missing or whose content is wrong."""

    def __init__(self, reason: str, packs: frozenset[str] = frozenset()) -> None:
        super().__init__(reason)
        self.packs = packs


class ResticInterrupted(ResticFailed):
    """The object store did not respond or refused the request, restic took too long, or it failed for a
    reason that is not known. It can be repeated."""


class ResticSnapshot(msgspec.Struct, frozen=True):
    """What restic says about a snapshot. A node has written it, so none of it can be trusted."""

    id: str
    time: Annotated[datetime, msgspec.Meta(tz=True)]
    hostname: str = ""
    tags: list[str] | None = None


class ResticRepository:
    """The repository of one site in one object store."""

    def __init__(self, store: StoreLocation, site: str, password: str) -> None:
        self.store, self.site = store, site
        self._password = password
        self._url = f"s3:{store.endpoint}/{store.bucket}/{repository_prefix(site).rstrip('/')}"

    async def create(self) -> None:
        """Create the repository. Can be repeated: what an interrupted attempt has left is removed first."""
        objects = self.store.objects()
        names = [name async for batch in objects.list_names(repository_prefix(self.site)) for name in batch]
        config = f"{repository_prefix(self.site)}config"
        if config in names:
            await self.list_snapshots()
            return
        if any("/data/" in name or "/snapshots/" in name for name in names):
            raise RepositoryDamaged("the repository has data, but no configuration")
        await objects.delete(names)
        await self.run("init", "--repository-version", "2")

    async def list_snapshots(self) -> list[ResticSnapshot]:
        output = await self.run("snapshots", "--json", "--no-lock")
        try:
            return msgspec.json.decode(output, type=list[ResticSnapshot] | None) or []
        except msgspec.MsgspecError:
            raise RepositoryDamaged("a snapshot describes itself in a way that cannot be read") from None

    async def unlock(self) -> None:
        """Remove all locks. The caller has made sure that nobody else uses the repository."""
        await self.run("unlock", "--remove-all")

    async def forget(self, snapshots: Sequence[str]) -> None:
        for start in range(0, len(snapshots), IDS_AT_ONCE):
            await self.run("forget", "--", *snapshots[start : start + IDS_AT_ONCE])

    async def prune(self) -> None:
        await self.run("prune", "--max-unused", "10%", seconds=LONG_SECONDS)

    async def check(self, subset: str | None = None) -> None:
        """Check the structure and, with a subset, also data: `2/7`, `10%`, or `100%` for all of it."""
        data = [] if subset is None else ["--read-data-subset", subset]
        await self.run("check", "--no-lock", *data, seconds=LONG_SECONDS)

    async def rebuild_index(self) -> None:
        """Make the index again from the packs. Packs that cannot be read are left out."""
        await self.run("rebuild-index", "--read-all-packs", seconds=LONG_SECONDS)

    async def find_damaged_packs(self) -> list[str]:
        """Read all data. Returns the names of packs with wrong content, or their beginnings."""
        try:
            await self.check("100%")
        except RepositoryDamaged as damage:
            return sorted(damage.packs)
        return []

    async def has_all_data(self, snapshot: str) -> bool:
        """Whether the index has everything that the snapshot needs."""
        try:
            await self.run("stats", "--mode", "raw-data", "--no-lock", "--", snapshot, seconds=LONG_SECONDS)
        except RepositoryDamaged:
            return False
        return True

    async def read_file(self, snapshot: str, path: str) -> bytes:
        return await self.run("dump", "--no-lock", "--", snapshot, path)

    async def run(self, *words: str, seconds: float = SHORT_SECONDS) -> bytes:
        require_no_transaction("restic")
        process = await asyncio.create_subprocess_exec(
            *(*_LIMITED, "restic", "--quiet", "--no-cache", "-o", "s3.bucket-lookup=path"),
            *("-o", "s3.layout=default", "-r", self._url, *words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment(),
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(seconds):
                output, errors = await asyncio.gather(
                    _read(process.stdout, MAX_OUTPUT), _read(process.stderr, MAX_ERRORS)
                )
                code = await process.wait()
        except TimeoutError:
            raise ResticInterrupted(f"restic {words[0]} took longer than {seconds:.0f} s") from None
        finally:
            await _end(process)
        if code != 0 or len(output) > MAX_OUTPUT:
            raise _failure(words[0], code, errors.decode(errors="replace"))
        return output

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": "/nonexistent",
            "RESTIC_PASSWORD": self._password,
            "AWS_ACCESS_KEY_ID": self.store.access_key,
            "AWS_SECRET_ACCESS_KEY": self.store.secret_key,
            "AWS_DEFAULT_REGION": "us-east-1",
            "GOMAXPROCS": "2",
        }


def is_installed() -> bool:
    return shutil.which("restic") is not None


async def _read(stream: asyncio.StreamReader | None, most: int) -> bytes:
    """At most `most` + 1 bytes; the rest is read and dropped, so that the program does not wait."""
    assert stream is not None  # noqa: S101
    content = bytearray()
    while chunk := await stream.read(65536):
        content += chunk[: most + 1 - len(content)]
    return bytes(content)


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _failure(command: str, code: int, errors: str) -> ResticFailed:
    """Only what restic clearly says about the data is damage: everything else may pass."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    last = lines[-1][:300] if lines else "no output"
    log.warning("restic.failed", command=command, code=code, error=last)
    text = errors.lower()
    if "wrong password" in text:
        return PasswordWrong("the password opens no key of the repository")
    if any(each in text for each in _TOO_LARGE):
        return RepositoryDamaged("its files need more memory than they should")
    if code < 0 or any(each in text for each in _SIGNS_OF_OUTAGE):
        return ResticInterrupted(f"restic {command} ended with {code}: {last}")
    if "is there a repository at" in text and "does not exist" in text:
        return RepositoryMissing("there is no repository")
    if any(each in text for each in _SIGNS_OF_DAMAGE):
        packs = frozenset(_DAMAGED_PACK.findall(text))
        return RepositoryDamaged(f"restic {command} finds that data is missing or damaged", packs)
    return ResticInterrupted(f"restic {command} ended with {code}: {last}")
