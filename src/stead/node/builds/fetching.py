"""Brings a source into a build's room. git and curl meet what is hostile inside the sandbox, as a stage of
their own that knows none of the build's variables; archives are unpacked outside, entry by entry checked."""

import errno
import os
import re
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from stead.artifacts.limits import UPLOAD
from stead.artifacts.refusals import ArchiveRefused, printable
from stead.artifacts.unpacking import unpack_upload
from stead.node import transfer
from stead.node.builds import sources, trees
from stead.node.builds.bundle import Bind, Stage
from stead.node.builds.caps import MB, BuildFailed, Caps, RefMissing
from stead.node.builds.egress import Egress, Resolve
from stead.node.builds.egress_rules import Rule, Rules
from stead.node.builds.explaining import disk_full, limit_met
from stead.node.builds.log import Log
from stead.node.builds.sandbox import INSIDE, SURROUNDINGS, Room, Sandbox
from stead.node.builds.sources import Place, Scheme
from stead.node.images.making import UID
from stead.node.uninterrupted import in_thread
from stead.protocol.work import ArchiveSource, GitSource

_SSH = (
    "ssh -F /dev/null -i /run/key -o IdentitiesOnly=yes -o BatchMode=yes -o ConnectTimeout=20"
    # The host is met for the first time in every build: its key is taken as it comes, and kept for the stage.
    " -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=/work/home/known_hosts"
    " -o ProxyCommand='socat - PROXY:127.0.0.1:%h:%p,proxyport=3128'"
)
_GIT = {
    "GIT_ALLOW_PROTOCOL": "http:https:ssh",
    "GIT_ASKPASS": "/bin/false",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_SSH_COMMAND": _SSH,
    "GIT_TERMINAL_PROMPT": "0",
}
_LONGEST_MESSAGE, _LONGEST_AUTHOR = 4000, 200
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_HTTP_ERROR, _TOO_LARGE = 22, 63


@dataclass(frozen=True)
class Commit:
    commit: str = ""
    ref: str = ""
    author: str = ""
    message: str = ""


class Fetcher:
    def __init__(self, sandbox: Sandbox, caps: Caps, rules: Rules, resolve: Resolve) -> None:
        self._sandbox, self._caps, self._rules, self._resolve = sandbox, caps, rules, resolve

    def place(self, source: GitSource | ArchiveSource) -> Place | None:
        """None when it is our own object store, which the sandbox has no business with."""
        # Plain HTTP is for an operator's own network; whatever comes over the internet is authenticated.
        web: tuple[Scheme, ...] = ("https", "http") if self._rules.opened else ("https",)
        if isinstance(source, GitSource):
            return sources.place(source.url, *web, "ssh")
        return None if source.ours else sources.place(source.url, *web)

    async def fetch(self, room: Room, source: GitSource | ArchiveSource, log: Log) -> Commit:
        log.begin("fetch")
        if isinstance(source, GitSource):
            return await self._git(room, source, log)
        await self._archive(room, source, log)
        return Commit()

    async def _git(self, room: Room, source: GitSource, log: Log) -> Commit:
        place = self.place(source)
        assert place is not None  # noqa: S101
        ref, commit = sources.ref(source.ref), sources.commit(source.commit)
        await log.say(f"{commit[:12] or ref or 'the default branch'} of {place.host}")
        binds = [Bind(INSIDE / "fetch.sh", "/run/fetch.sh")]
        key = room.place / "key"
        if source.key and place.scheme == "ssh":
            _write_key(key, source.key, room.uid + UID)
            binds.append(Bind(key, "/run/key"))
        stage = Stage(
            ("/bin/sh", "/run/fetch.sh", place.url, ref, commit), SURROUNDINGS | _GIT, binds=tuple(binds)
        )
        try:
            async with self._way_out(room, log, place.rule):
                ending = await self._sandbox.run(room, stage, log.sink)
        finally:
            key.unlink(missing_ok=True)
        if ending.code:
            limit = limit_met(ending.strain, room, self._caps)
            failure = RefMissing if ending.code == _NO_REF else BuildFailed
            raise failure(_why_not(ending.code, ref, commit, place.host, limit, log.last))
        found = _commit(trees.read(room.home, "commit"), ref)
        await log.say(f"commit {found.commit[:12]} by {found.author}: {found.message.partition(chr(10))[0]}")
        return found

    async def _archive(self, room: Room, source: ArchiveSource, log: Log) -> None:
        place, most = self.place(source), min(UPLOAD.total_bytes, self._caps.disk_mb * MB // 2)
        if place is None:
            archive = room.work / "archive"
            await self._ours(source.url, archive, most)
        else:
            archive = room.home / "archive"
            await self._download(room, place, most, log)
        size = await in_thread(self._unpacked, room, archive, most)
        await log.say(f"an archive of {size} bytes was checked and unpacked")

    async def _ours(self, url: str, archive: Path, most: int) -> None:
        try:
            await transfer.get(url, archive, most=most)
        except transfer.TooLarge:
            raise BuildFailed(f"the upload is larger than {most >> 20} MB") from None

    async def _download(self, room: Room, place: Place, most: int, log: Log) -> None:
        await log.say(f"an archive of {place.host}")
        kinds = "=https,http" if self._rules.opened else "=https"
        argv = (
            *("curl", "--fail", "--silent", "--show-error", "--globoff", "--location", "--max-redirs", "5"),
            *("--proto", kinds, "--proto-redir", kinds, "--connect-timeout", "20"),
            *("--max-filesize", str(most), "--output", "/work/home/archive", "--", place.url),
        )
        # It may be sent on to any public host: no one but our curl speaks in this stage.
        async with self._way_out(room, log, place.rule, Rule("*", 443)):
            ending = await self._sandbox.run(room, Stage(argv, SURROUNDINGS), log.sink)
        if ending.code == _HTTP_ERROR:
            raise BuildFailed(f"{place.host} has no such archive: {_status(log.last)}")
        if ending.code == _TOO_LARGE:
            raise BuildFailed(f"the archive is larger than {most >> 20} MB")
        if ending.code:
            why = limit_met(ending.strain, room, self._caps) or _told(log.last)
            raise BuildFailed(f"the archive could not be had from {place.host}: {why}")

    def _unpacked(self, room: Room, archive: Path, most: int) -> int:
        room.source.rmdir()
        descriptor = os.open(archive, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(descriptor).st_size
            if size > most:
                raise BuildFailed(f"the archive is larger than {most >> 20} MB")
            try:
                unpack_upload(file, room.source, strip=True)
            except ArchiveRefused as refused:
                raise BuildFailed(f"the archive is refused: {refused}") from None
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                raise BuildFailed(f"the archive does not fit: {disk_full(self._caps)}") from None
        archive.unlink()
        room.source.chmod(0o755)
        trees.give(room.source, room.uid + UID)
        return size

    def _way_out(self, room: Room, log: Log, *more: Rule) -> AbstractAsyncContextManager[None]:
        return Egress(self._rules.plus(*more), log.say, self._resolve).open(room.egress)


def _write_key(path: Path, key: str, uid: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    with os.fdopen(descriptor, "w") as file:
        file.write(key if key.endswith("\n") else f"{key}\n")
    os.chown(path, uid, uid)


def _commit(said: bytes | None, ref: str) -> Commit:
    hash_, _, rest = (said or b"").decode(errors="replace").partition("\0")
    author, _, message = rest.partition("\0")
    if _HASH.fullmatch(hash_) is None:
        raise BuildFailed("git did not say which commit it fetched")
    return Commit(hash_, ref, _clean(author)[:_LONGEST_AUTHOR], _clean(message).strip()[:_LONGEST_MESSAGE])


def _clean(text: str) -> str:
    """Without what steers a terminal."""
    return "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")


_NO_REF = 10
_PHRASES = (
    ("it is not on the egress list", "it is not on the egress list"),
    ("its address is not public", "its address is not public"),
    ("error: 403", "access to it is refused"),
    ("Authentication failed", "authentication failed"),
    ("could not read Username", "it asks for a login: authentication failed"),
    ("could not read Password", "authentication failed"),
    ("Permission denied (publickey", "authentication failed: the key is not accepted"),
    ("Host key verification failed", "the host's key is not the one it had"),
    ("not found", "there is no such repository, or it may not be seen"),
    ("does not appear to be a git repository", "there is no such repository"),
)


def _why_not(code: int, ref: str, commit: str, host: str, limit: str, last: list[str]) -> str:
    name, short = printable(ref), commit[:12]
    if code == _NO_REF:
        return f"the branch or tag {name} does not exist" if ref else "the repository has no default branch"
    if code == 11:
        return f"the commit {short} does not exist, or is too far behind {name or 'the default branch'}"
    said = "\n".join(last)
    why = limit or next((reason for phrase, reason in _PHRASES if phrase in said), _told(last))
    what = "a submodule" if code == 13 else "the source"
    return f"{what} could not be fetched from {host}: {why}"


def _told(last: list[str]) -> str:
    return printable(last[-1]) if last else "it said nothing"


def _status(last: list[str]) -> str:
    found = re.search(r"error: (\d{3})", "\n".join(last))
    return f"it answered {found[1]}" if found else _told(last)
