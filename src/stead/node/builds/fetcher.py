"""Fetches a source into a build's workspace. git and curl run inside the sandbox, because servers may be
hostile, in containers of their own without the build's variables. Archives are unpacked outside, with every
entry checked."""

import errno
import os
import re
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

from stead.artifacts.limits import UPLOAD
from stead.artifacts.refusals import ArchiveRefused
from stead.artifacts.unpacker import unpack_upload
from stead.node import transfer
from stead.node.builds import fetch_errors, relevance, trees
from stead.node.builds.explanations import disk_full, reached_limit
from stead.node.builds.failures import BuildFailed, RefMissing
from stead.node.builds.limits import BuildLimits
from stead.node.builds.log import BuildLog
from stead.node.builds.sandbox import ENVIRONMENT, SCRIPTS, SOURCE, Sandbox
from stead.node.builds.source_address import (
    Scheme,
    SourceAddress,
    check_commit,
    check_ref,
    parse_address,
)
from stead.node.builds.workspaces import Workspace
from stead.node.containers.bundle import BindMount, ContainerProcess
from stead.node.containers.egress_proxy import EgressProxy
from stead.node.containers.egress_rules import EgressRules, HostRule
from stead.node.containers.limits import MB
from stead.node.containers.names import Resolve
from stead.node.uninterrupted import run_in_thread
from stead.protocol.work.builds import ArchiveSource, GitSource, InlineSource

Source = GitSource | ArchiveSource | InlineSource

_SSH = (
    "ssh -F /dev/null -i /run/key -o IdentitiesOnly=yes -o BatchMode=yes -o ConnectTimeout=20"
    # No build has seen the host before, so its key is accepted, and remembered until the fetch ends.
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
_MAX_MESSAGE, _MAX_AUTHOR = 4000, 200
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Commit:
    """What was fetched; empty for an archive."""

    commit: str = ""
    ref: str = ""
    author: str = ""
    message: str = ""
    tree: dict[str, str] = field(default_factory=dict)
    """The entries of the top directory and all directories, with their hashes."""


def _write_source(workspace: Workspace, source: InlineSource) -> None:
    path = workspace.source / source.filename
    path.write_text(source.content, encoding="utf-8")
    os.chown(path, workspace.owner, workspace.owner)


class Fetcher:
    def __init__(self, sandbox: Sandbox, limits: BuildLimits, rules: EgressRules, resolve: Resolve) -> None:
        self._sandbox, self._limits, self._rules, self._resolve = sandbox, limits, rules, resolve

    def address_of(self, source: Source) -> SourceAddress | None:
        """None for the installation's own object store, which the sandbox must not reach, and for a source in
        the command itself."""
        if isinstance(source, InlineSource):
            return None
        # Plain HTTP is only for an operator's own network: it authenticates no server.
        web: tuple[Scheme, ...] = ("https", "http") if self._rules.networks else ("https",)
        if isinstance(source, ArchiveSource) and source.ours:
            return None
        ssh: tuple[Scheme, ...] = ("ssh",) if isinstance(source, GitSource) else ()
        address = parse_address(source.url, *web, *ssh)
        if not address.has_usual_port and not self._rules.names_port(address.port):
            raise BuildFailed(f"the source's port {address.port} is not one of 443, 80 and, for ssh, 22")
        return address

    async def fetch(self, workspace: Workspace, source: Source, log: BuildLog) -> Commit:
        log.begin_step("fetch")
        if isinstance(source, InlineSource):
            await run_in_thread(_write_source, workspace, source)
            await log.say(f"{source.filename}, {len(source.content.encode())} bytes")
            return Commit()
        if isinstance(source, GitSource):
            return await self._fetch_git(workspace, source, log)
        await self._fetch_archive(workspace, source, log)
        return Commit()

    async def _fetch_git(self, workspace: Workspace, source: GitSource, log: BuildLog) -> Commit:
        address = self.address_of(source)
        assert address is not None  # noqa: S101
        ref, commit = check_ref(source.ref), check_commit(source.commit)
        await log.say(f"{commit[:12] or ref or 'the default branch'} of {address.host}")
        mounts = [BindMount(SCRIPTS / "fetch.sh", "/run/fetch.sh")]
        key = workspace.memory / "key"
        if source.key and address.scheme == "ssh":
            _write_key(key, source.key, workspace.owner)
            mounts.append(BindMount(key, "/run/key"))
        argv = ("/bin/sh", "/run/fetch.sh", address.url, ref, commit)
        process = ContainerProcess(argv, ENVIRONMENT | _GIT, SOURCE, tuple(mounts))
        try:
            async with self._egress(workspace, log, address.rule):
                ended = await self._sandbox.run(workspace, process, log.sink)
        finally:
            key.unlink(missing_ok=True)
        if ended.code:
            limit = reached_limit(ended.limit_events, workspace, self._limits)
            failure = RefMissing if ended.code == fetch_errors.NO_REF else BuildFailed
            raise failure(
                fetch_errors.explain_git(ended.code, ref, commit, address.host, limit, log.last_lines)
            )
        found = _parse_commit(trees.read_file(workspace.home, "commit"), ref)
        await log.say(f"commit {found.commit[:12]} by {found.author}: {found.message.partition(chr(10))[0]}")
        return replace(found, tree=_read_tree(workspace))

    async def _fetch_archive(self, workspace: Workspace, source: ArchiveSource, log: BuildLog) -> None:
        max_bytes = min(UPLOAD.total_bytes, self._limits.disk_mb * MB // 2)
        address = self.address_of(source)
        if address is None:
            archive = workspace.work / "archive"
            await self._download_upload(source.url, archive, max_bytes)
        else:
            archive = workspace.home / "archive"
            await self._download(workspace, address, max_bytes, log)
        size = await run_in_thread(self._unpack, workspace, archive, max_bytes)
        await log.say(f"an archive of {size} bytes was checked and unpacked")

    async def _download_upload(self, url: str, archive: Path, max_bytes: int) -> None:
        try:
            await transfer.get(url, archive, max_bytes=max_bytes)
        except transfer.TooLarge:
            raise BuildFailed(f"the upload is larger than {max_bytes >> 20} MB") from None

    async def _download(
        self, workspace: Workspace, address: SourceAddress, max_bytes: int, log: BuildLog
    ) -> None:
        await log.say(f"an archive of {address.host}")
        schemes = "=https,http" if self._rules.networks else "=https"
        argv = (
            *("curl", "--fail", "--silent", "--show-error", "--globoff", "--location", "--max-redirs", "5"),
            *("--proto", schemes, "--proto-redir", schemes, "--connect-timeout", "20"),
            *("--max-filesize", str(max_bytes), "--output", "/work/home/archive", "--", address.url),
        )
        # Redirects to any public host are allowed: only curl runs in this container.
        async with self._egress(workspace, log, address.rule, HostRule("*", 443)):
            process = ContainerProcess(argv, ENVIRONMENT, SOURCE)
            ended = await self._sandbox.run(workspace, process, log.sink)
        if ended.code and (not_dialled := fetch_errors.explain_egress(log.last_lines)):
            raise BuildFailed(f"the archive could not be downloaded from {address.host}: {not_dialled}")
        if ended.code == fetch_errors.HTTP_ERROR:
            status = fetch_errors.explain_http_status(log.last_lines)
            raise BuildFailed(f"{address.host} has no such archive: {status}")
        if ended.code == fetch_errors.TOO_LARGE:
            raise BuildFailed(f"the archive is larger than {max_bytes >> 20} MB")
        if ended.code:
            limit = reached_limit(ended.limit_events, workspace, self._limits)
            reason = limit or fetch_errors.last_line(log.last_lines)
            raise BuildFailed(f"the archive could not be downloaded from {address.host}: {reason}")

    def _unpack(self, workspace: Workspace, archive: Path, max_bytes: int) -> int:
        """Return the size of the archive."""
        workspace.source.rmdir()
        descriptor = os.open(archive, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(descriptor).st_size
            if size > max_bytes:
                raise BuildFailed(f"the archive is larger than {max_bytes >> 20} MB")
            try:
                unpack_upload(file, workspace.source, strip=True)
            except ArchiveRefused as refused:
                raise BuildFailed(f"the archive is refused: {refused}") from None
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                raise BuildFailed(f"the archive does not fit: {disk_full(self._limits)}") from None
        archive.unlink()
        workspace.source.chmod(0o755)
        trees.chown_tree(workspace.source, workspace.owner)
        return size

    def _egress(
        self, workspace: Workspace, log: BuildLog, *more: HostRule
    ) -> AbstractAsyncContextManager[None]:
        return EgressProxy(self._rules.plus(*more), log.say, self._resolve).listen(workspace.egress)


def _write_key(path: Path, key: str, owner: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    with os.fdopen(descriptor, "w") as file:
        file.write(key if key.endswith("\n") else f"{key}\n")
    os.chown(path, owner, owner)


def _read_tree(workspace: Workspace) -> dict[str, str]:
    """Empty if it is too large: then it is not compared with another."""
    try:
        content = trees.read_file(workspace.home, "tree", max_bytes=relevance.MAX_TREE_BYTES)
    except BuildFailed:
        return {}
    return relevance.read_tree(content)


def _parse_commit(content: bytes | None, ref: str) -> Commit:
    hash_, _, rest = (content or b"").decode(errors="replace").partition("\0")
    author, _, message = rest.partition("\0")
    if _HASH.fullmatch(hash_) is None:
        raise BuildFailed("git did not say which commit it fetched")
    return Commit(
        hash_,
        ref,
        _remove_control_characters(author)[:_MAX_AUTHOR],
        _remove_control_characters(message).strip()[:_MAX_MESSAGE],
    )


def _remove_control_characters(text: str) -> str:
    """They could control the terminal of a reader."""
    return "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")
