"""A node with a WordPress site and an SSH gateway, which runs as a process of its own; and SSH clients."""

import asyncio
import base64
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path

from stead.control.access.rules import hash_password
from stead.dev.ports import reserve_ports
from stead.node.access.table import AccessTable, Admission
from stead.node.containers import cgroups
from stead.node.containers.limits import GATEWAY_UID
from stead.node.containers.runc import Runc
from stead.node.databases.people_accounts import PeopleAccounts
from stead.node.processes import Processes
from stead.node.ssh.driver import SshDriver
from stead.node.ssh.messages import Enter
from stead.node.ssh.sessions import DIRECTORY, SshSessions
from stead.node.ssh.site_programs import SitePrograms
from stead.node.wordpress.paths import container_prefix
from stead.node.wordpress.people_databases import PeopleDatabases
from stead.protocol.work.access import AccessKey, AccessPassword, DatabasePassword, SetAccess
from stead.shared.token_bucket import TokenBuckets
from tests.node.harness import until
from tests.node.wordpress.wordpress_node import Site, WordPressNode, start_wordpress_node
from tests.patience import time_limit

PASSWORD = "generated-password-of-forty-characters-x"
_SOURCES = count(1)
_GENERATIONS = count(1)


@dataclass(frozen=True)
class Done:
    code: int
    out: bytes
    err: str


@dataclass(frozen=True)
class Key:
    file: Path

    @property
    def blob(self) -> bytes:
        return base64.b64decode(self.file.with_suffix(".pub").read_text().split()[1])

    def access(self, *, commands: bool = True) -> AccessKey:
        fingerprint = "SHA256:" + base64.b64encode(sha256(self.blob).digest()).decode().rstrip("=")
        return AccessKey(f"key_{self.file.name}", "acct_1", fingerprint, self.blob, commands)


def make_key(directory: Path, name: str, *options: str) -> Key:
    file = directory / name
    argv: list[str | Path] = [
        "ssh-keygen",
        "-q",
        "-N",
        "",
        "-C",
        "",
        "-f",
        file,
        *(options or ("-t", "ed25519")),
    ]
    subprocess.run(argv, check=True)
    return Key(file)


def new_source() -> str:
    """An address of this machine that no other attempt uses, because failures count for an address."""
    number = next(_SOURCES)
    return f"127.1.{number // 250}.{number % 250 + 1}"


@dataclass
class GatewayNode:
    node: WordPressNode
    site: Site
    access: AccessTable
    home: Path
    port: int
    key: Key
    process: asyncio.subprocess.Process
    programs: SitePrograms
    sessions: SshSessions
    user: str = "shop"
    reports: list[tuple[str, Admission, Enter]] = field(default_factory=list)
    """What the control plane was told."""

    def admit(
        self,
        *keys: AccessKey,
        password: bool = True,
        user: str = "",
        environment: str = "",
        database: str = "",
    ) -> None:
        """`database` is a password for people."""
        given = AccessPassword("pwd_1", "acct_1", sha256(PASSWORD.encode()).digest()) if password else None
        hash_ = hash_password("database", database)
        of_database = DatabasePassword("pwd_2", "acct_1", hash_) if database else None
        wanted = SetAccess(
            next(_GENERATIONS), user or self.user, keys or (self.key.access(),), given, of_database
        )
        assert self.access.replace(environment or self.site.environment, "site_x", wanted)

    def shut_out(self) -> None:
        wanted = SetAccess(next(_GENERATIONS), self.user)
        assert self.access.replace(self.site.environment, "site_x", wanted)

    def options(self, key: Key | None = None, source: str = "") -> list[str]:
        chosen = {
            "BatchMode": "yes",
            "ConnectTimeout": "30",
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "IdentityFile": str((key or self.key).file),
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": str(self.home / "known_hosts"),
            "BindAddress": source or new_source(),
        }
        return ["-F", "none", *(word for name, value in chosen.items() for word in ("-o", f"{name}={value}"))]

    def ssh_argv(
        self, *words: str, key: Key | None = None, user: str = "", source: str = "", extra: Sequence[str] = ()
    ) -> list[str]:
        target = f"{user or self.user}@127.0.0.1"
        return ["ssh", *self.options(key, source), "-p", str(self.port), *extra, target, *words]

    async def ssh(self, *words: str, stdin: bytes = b"", **options: object) -> Done:
        return await run(self.ssh_argv(*words, **options), stdin)  # type: ignore[arg-type]

    async def sftp(
        self, *commands: str, extra: Sequence[str] = (), user: str = "", key: Key | None = None
    ) -> Done:
        argv = [
            "sftp",
            *self.options(key),
            "-P",
            str(self.port),
            *extra,
            "-b",
            "-",
            f"{user or self.user}@127.0.0.1",
        ]
        return await run(argv, "\n".join(commands).encode() + b"\n")

    def remote_shell(self) -> str:
        """For rsync, which splits it at spaces."""
        return " ".join(["ssh", *self.options(), "-p", str(self.port)])

    def containers(self) -> set[str]:
        """Of sessions."""
        return cgroups.find(f"{container_prefix(self.node.data)}{self.site.environment}-")

    async def no_session_is_left(self) -> None:
        async def gone() -> bool | None:
            return not self.containers() or None

        await until(gone)


async def run(argv: Sequence[str | Path], stdin: bytes = b"", seconds: float = 60.0) -> Done:
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"},
    )
    try:
        async with time_limit(seconds):
            out, err = await process.communicate(stdin)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Done(process.returncode, out, err.decode(errors="replace"))


@asynccontextmanager
async def start_gateway_node(home: Path, **settings: int) -> AsyncIterator[GatewayNode]:
    async with start_wordpress_node() as node:
        site = await node.create(**settings)
        access = AccessTable(node.data / "access.sqlite")
        runc = Runc(Processes("ssh-tests").run, node.data / "hosting" / "runc-jobs")
        # Tests enter more often than people.
        often = TokenBuckets(1000, 1000)
        programs = SitePrograms(node.runtime, runc, node.hosts.budget, often)
        reports: list[tuple[str, Admission, Enter]] = []
        sessions = SshSessions(
            access,
            programs,
            node.data / DIRECTORY,
            GATEWAY_UID,
            lambda *report: reports.append(report),
            often,
        )
        driver = SshDriver(sessions, node.runtime)
        people = PeopleDatabases(access, PeopleAccounts(node.databases.databases.socket), node.state)
        node.runtime.before_closing(people.end_use)
        works = [*driver.background_tasks().values(), *people.background_tasks().values()]
        tasks = [asyncio.create_task(work()) for work in works]
        port = reserve_ports(1)[0]
        process = await start_gateway(node.data, port)
        made = GatewayNode(
            node,
            site,
            access,
            home,
            port,
            make_key(home, "owner"),
            process,
            programs,
            sessions,
            reports=reports,
        )
        host_key = subprocess.run(  # noqa: ASYNC221
            [sys.executable, "-m", "stead.steadctl", "ssh", "host-key"],
            env={**os.environ, "STEAD_NODE_DATA": str(node.data)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()[1]
        (home / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}\n")
        made.admit()
        try:
            await wait_until_it_listens(port)
            yield made
        finally:
            made.process.send_signal(signal.SIGTERM)
            await made.process.wait()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            access.close()


async def start_gateway(data: Path, port: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "stead.steadctl", "ssh"),
        env={
            **os.environ,
            "STEAD_NODE_DATA": str(data),
            "STEAD_SSH_HOST": "127.0.0.1",
            "STEAD_SSH_PORT": str(port),
        },
    )


async def wait_until_it_listens(port: int) -> None:
    async def listens() -> bool | None:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(new_source(), 0))
        except OSError:
            return None
        try:
            return (await reader.readline()).startswith(b"SSH-2.0-") or None
        finally:
            writer.close()

    await until(listens, bound=60)
