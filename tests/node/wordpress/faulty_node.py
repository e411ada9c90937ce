"""A real agent with WordPress sites, whose work is interrupted in every way, and what is left afterwards."""

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from stead.mariadb.connection import StatementFailed, connect
from stead.mariadb.data_directory import ServerUnavailable
from stead.mariadb.server_settings import ServerSettings
from stead.node.containers import cgroups
from stead.node.containers.disks import mounted_below, unmount_below
from stead.node.containers.limits import MEMORY
from stead.node.containers.runc import remove_leftover_containers
from stead.node.databases.gate import DatabaseGate, find_nginx
from stead.node.databases.names import schema_name
from stead.node.databases.server import DatabaseServer
from stead.node.images.image_store import default_directory
from stead.node.wordpress.paths import EnvironmentPaths, container_prefix
from stead.node.wordpress.spec import WordPressSpec
from stead.protocol.commands import Cancel, Command, Result
from stead.protocol.work.access import RunCommand
from stead.protocol.work.hosting import (
    CheckPhp,
    DiscardDataset,
    EnsureEnvironment,
    PrepareDataset,
    PushMode,
    RemoveEnvironment,
    RestartEnvironment,
    SuspendEnvironment,
    SwitchPhp,
    WordPressSettings,
)
from stead.protocol.work.kinds import Work
from stead.protocol.work.snapshots import (
    RepositoryAccess,
    RestoreSnapshot,
    SnapshotTaken,
    TakeSnapshot,
    VerifySnapshot,
)
from stead.shared.ids import EnvironmentId, new_id
from tests.faults.jobs.programs import python_path
from tests.node.harness import AGENT, NodeHarness, until
from tests.node.wordpress.holding_agent import holds_of
from tests.node.wordpress.leftovers import IMAGES, find_leftovers, names_in
from tests.node.wordpress.page_request import request_page

HOLDING = (sys.executable, "-m", "tests.node.wordpress.holding_agent")
PATIENCE = 120.0

Kind = str
"""`install`, `change`, `restart`, `suspend`, `remove`, or `ensure` as it is; `check` and `php` for another
version of PHP, and `restore` for the one from before; `prepare`, `reset` and `prepare push` make another
dataset, `switch` and `push` serve it, and `discard` removes it; `exec` runs a command of the customer;
`take`, `verify` and `recover` are for its snapshot."""
OLD_PHP, NEW_PHP = "8.2", "8.4"


@dataclass
class Site:
    node: "FaultyNode"
    name: str = field(default_factory=lambda: new_id("env"))
    memory_mb: int = 256
    workers: int = 2
    source: str = ""
    """The environment that it is a copy of."""
    dataset: str = ""
    """What it serves."""
    other: str = field(default_factory=lambda: new_id("job")[-14:])
    """The dataset that is made next."""
    rows: str | None = None
    """The dataset whose schema it uses, if that is not the one that it serves."""
    pushed: str = ""
    """The environment that is pushed to it."""
    mode: PushMode = "full"
    hostname: str = ""
    args: tuple[str, ...] = ()
    """Of a command in Bash."""
    repository: RepositoryAccess | None = None
    snapshot: str = field(default_factory=lambda: new_id("snap"))
    taken: SnapshotTaken | None = None

    @property
    def paths(self) -> EnvironmentPaths:
        return EnvironmentPaths(self.node.data, self.name, self.dataset)

    @property
    def schema(self) -> str:
        return schema_name(EnvironmentId(self.name), self.dataset if self.rows is None else self.rows)

    @property
    def cgroup(self) -> str:
        return f"/{self.paths.container_name}"

    @property
    def host(self) -> str:
        return self.hostname or f"{self.name.replace('_', '-')}.example.com"

    def work(self, kind: Kind) -> Work:
        if kind == "restart":
            return RestartEnvironment("cms")
        if kind == "exec":
            return RunCommand("cms", "bash", self.args, restricted=False)
        if kind == "suspend":
            return SuspendEnvironment("cms")
        if kind == "remove":
            return RemoveEnvironment()
        if kind == "discard":
            return DiscardDataset("cms", self.other)
        if kind == "check":
            return CheckPhp("cms", NEW_PHP, self.host)
        if kind in ("php", "restore"):
            return SwitchPhp("cms", NEW_PHP if kind == "php" else OLD_PHP, restore=kind == "restore")
        if kind == "reset":
            return PrepareDataset("cms", self.other, self._settings())
        if kind == "prepare":
            return PrepareDataset("cms", self.other, self._settings(), self.source, uploads=True)
        return (
            self._push(kind)
            or self._snapshot(kind)
            or EnsureEnvironment(
                "cms",
                None,
                self._settings("correct horse battery staple" if kind == "install" else ""),
                self.other if kind == "switch" else "",
            )
        )

    def _push(self, kind: Kind) -> Work | None:
        if kind == "prepare push":
            return PrepareDataset("cms", self.other, self._settings(), self.pushed, push=self.mode)
        if kind == "push":
            return EnsureEnvironment("cms", None, self._settings(), self.other, self.mode)
        return None

    def _snapshot(self, kind: Kind) -> Work | None:
        if self.repository is None or kind not in ("take", "verify", "recover"):
            return None
        if kind == "take":
            return TakeSnapshot("cms", self.repository, self.snapshot)
        assert self.taken is not None
        known = (self.repository, self.snapshot, self.taken.restic_id, self.taken.manifest_digest)
        if kind == "verify":
            return VerifySnapshot("cms", *known)
        return RestoreSnapshot("cms", *known, self.other, self._settings())

    def _settings(self, password: str = "") -> WordPressSettings:
        return WordPressSettings(
            php=OLD_PHP,
            url=f"https://{self.host}",
            title="A Site",
            admin_user="admin",
            admin_email="admin@example.com",
            admin_password=password,
            workers=self.workers,
            memory_mb=self.memory_mb,
            processes=48,
            disk_mb=128,
            environment_type="staging" if self.source and not self.pushed else "production",
        )

    async def order(self, kind: Kind, **more: Any) -> Command:
        """Send the command, and do not wait for the result. A change also changes its limits."""
        if kind == "change":
            self.memory_mb, self.workers = self.memory_mb + 10, self.workers % 3 + 1
        self.node.known.add(self.name)
        command = self.node.agent.command(self.work(kind), environment=self.name, driver="live")
        command = msgspec.structs.replace(command, **more)
        await self.node.agent.send(command)
        return command

    async def do(self, kind: Kind, **more: Any) -> Result:
        return await self.node.result(await self.order(kind, **more))

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        with connect(self.node.server.socket) as connection:
            return list(connection.execute(statement.replace("{schema}", f"`{self.schema}`")))

    def follow(self) -> None:
        """Look at the files and rows that the node says it serves."""
        with closing(sqlite3.connect(self.node.data / "hosting" / "wordpress.sqlite")) as state:
            row = state.execute(
                "select spec from environments where environment = ?", (self.name,)
            ).fetchone()
        datasets = msgspec.msgpack.decode(row[0], type=WordPressSpec).datasets
        self.dataset, self.rows = datasets.current, datasets.rows

    async def mark(self) -> None:
        """Add a row and a file, which must never be lost."""
        insert = "insert into {schema}.wp_options (option_name, option_value) values ('kept', 'kept')"
        await asyncio.to_thread(self.query, insert)
        (self.paths.content / "uploads" / "kept.txt").write_text("kept")

    async def get_php_version(self) -> str:
        script = self.paths.content / "plugins" / "version.php"
        script.write_text("<?php echo 'PHP ', PHP_VERSION;")
        page = await request_page(self.paths.socket, self.host, script="/wp-content/plugins/version.php")
        return ".".join(page.partition("PHP ")[2].split(".")[:2])

    async def describe(self) -> dict[str, object]:
        """What is true of a site that is complete."""
        rows = await asyncio.to_thread(
            self.query,
            "select (select count(*) from {schema}.wp_users), (select count(*) from {schema}.wp_posts) > 0,"
            " (select option_value from {schema}.wp_options where option_name = 'home')",
        )
        page = await request_page(self.paths.socket, self.host)
        return {
            "rows": rows,
            "page": "A Site" in page,
            "php": await self.get_php_version(),
            "memory": _memory_limit(self.cgroup),
            "workers": f"pm.max_children = {self.workers}" in (self.paths.memory / "fpm.conf").read_text(),
        }

    def complete(self) -> dict[str, object]:
        return {
            "rows": [(1, 1, f"https://{self.host}")],
            "page": True,
            "php": OLD_PHP,
            "memory": self.memory_mb << 20,
            "workers": True,
        }

    def fill_disk(self) -> None:
        with suppress(OSError), self._filler.open("wb", buffering=0) as file:
            while file.write(bytes(1 << 20)):
                pass

    def free_disk(self) -> None:
        self._filler.unlink(missing_ok=True)

    @property
    def _filler(self) -> Path:
        return self.paths.content / "uploads" / "filler"

    async def use_all_memory(self) -> None:
        """As a visitor of a script that never has enough."""
        script = self.paths.content / "plugins" / "memory.php"
        script.write_text('<?php ini_set("memory_limit", -1); for (;;) $all[] = str_repeat("x", 1 << 20);')
        await request_page(self.paths.socket, self.host, script="/wp-content/plugins/memory.php")

    @property
    def has_processes(self) -> bool:
        return bool(cgroups.processes(self.cgroup))

    def has_kept(self) -> bool:
        rows = self.query("select option_value from {schema}.wp_options where option_name = 'kept'")
        return rows == [("kept",)] and (self.paths.content / "uploads" / "kept.txt").read_text() == "kept"


def _memory_limit(cgroup: str) -> int:
    for path in (
        cgroups.ROOT / f"memory{cgroup}" / "memory.limit_in_bytes",
        cgroups.ROOT / cgroup[1:] / "memory.max",
    ):
        if path.exists():
            return int(path.read_text())
    return 0


class FaultyNode:
    def __init__(self, agent: NodeHarness) -> None:
        self.agent, self.data = agent, agent.data
        self.server = DatabaseServer(ServerSettings(self.data / "mariadb"))
        self.images = self.data.with_name("images")
        self.holds = holds_of(self.data)
        self.known: set[str] = set()
        """The sites that were ever on it. Other nodes may use the same images."""
        self.spare: list[Site] = []
        """Complete sites that no test uses."""

    def start(self, *, holding: bool = False) -> None:
        self.agent.start(
            agent=HOLDING if holding else AGENT,
            PYTHONPATH=python_path(),
            STEAD_KEEP_SITES_RUNNING="true",
            STEAD_MARIADB_SOCKET="",
            STEAD_IMAGES=str(self.images),
            STEAD_IMAGES_ON_DEMAND="false",
            STEAD_NODE_COMMANDS="100",
            STEAD_NODE_MIN_FREE_MB="16",
        )

    async def restart(self, *, holding: bool = False) -> None:
        """Kill the agent, start it again, and wait until it has brought its sites back."""
        await self.agent.kill()
        shutil.rmtree(self.holds, ignore_errors=True)
        self.holds.mkdir()
        before = self._count_starts()
        self.start(holding=holding)

        async def look() -> bool | None:
            return self._count_starts() > before or None

        await until(look, PATIENCE)

    def _count_starts(self) -> int:
        return sum(self.agent.log.count(event) for event in ("wordpress.ready", "wordpress.unavailable"))

    async def result(self, command: Command) -> Result:
        return await self.agent.result(command, bound=PATIENCE)

    async def sites(self, number: int) -> list[Site]:
        """Complete sites with a row and a file each."""
        made = [Site(self) for _ in range(number - len(self.spare))]
        results = await asyncio.gather(*(site.do("install") for site in made))
        assert {result.outcome for result in results} <= {"done"}, results
        for site in made:
            await site.mark()
        self.spare += made
        taken, self.spare = self.spare[:number], self.spare[number:]
        return taken

    def hold(self, site: Site, point: str) -> None:
        (self.holds / f"{site.name}.reached").unlink(missing_ok=True)
        (self.holds / site.name).write_text(point)

    async def wait_until_held(self, site: Site, point: str) -> None:
        async def look() -> bool | None:
            return (self.holds / f"{site.name}.reached").exists() or None

        try:
            await until(look, PATIENCE)
        except AssertionError:
            raise AssertionError(f"not reached: {point}") from None

    def release(self, site: Site) -> None:
        (self.holds / site.name).unlink(missing_ok=True)

    async def cancel(self, command: Command) -> None:
        """Send the cancellation, and return when the node has recorded it."""
        await self.agent.send(Cancel(command.node, command.job, command.step, command.epoch))

        async def look() -> bool | None:
            return self._state_of(command) != "running" or None

        await until(look, PATIENCE)

    def _state_of(self, command: Command) -> str:
        with closing(sqlite3.connect(self.data / "journal.sqlite")) as journal:
            row = journal.execute(
                "select state from steps where job = ? and step = ?", (command.job, command.step)
            ).fetchone()
        return str(row[0])

    async def installer_of(self, site: Site) -> str:
        """Wait until PHP installs the site and has made some tables, and return its control group."""

        async def look() -> str | None:
            groups = sorted(cgroups.find(f"{site.paths.container_name}-"))
            with suppress(StatementFailed, ServerUnavailable):
                return groups[0] if groups and site.query("show tables in {schema}") else None
            return None

        return await until(look, PATIENCE, pause=0.02)

    async def wait_for_signal(self, site: Site, number: signal.Signals) -> None:
        """Wait until a process of the site, all of which are stopped, was sent this signal."""

        async def look() -> bool | None:
            return any(_has_pending(pid, number) for pid in cgroups.processes(site.cgroup)) or None

        await until(look, PATIENCE)

    def kill_mariadb(self) -> None:
        pid = self.server.find_process()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    async def kill_mariadb_while_it_loads(self, site: Site) -> None:
        """When the first table of a new dataset exists."""
        schema = schema_name(EnvironmentId(site.name), site.other)

        async def look() -> int | None:
            with suppress(StatementFailed, ServerUnavailable):
                return _loader_of(schema) if site.query(f"show tables in `{schema}`") else None
            return None

        loader = await until(look, PATIENCE, pause=0.005)
        os.kill(loader, signal.SIGSTOP)
        self.kill_mariadb()
        os.kill(loader, signal.SIGCONT)

    async def wait_for_mariadb(self, site: Site) -> None:
        async def look() -> bool | None:
            with suppress(StatementFailed, ServerUnavailable):
                return bool(site.query("select 1"))
            return None

        await until(look, PATIENCE)

    def add_images(self) -> None:
        """Images that can be taken away: mounted, not copied."""
        for name in IMAGES:
            (self.images / name).mkdir(parents=True, exist_ok=True)
            _mount("--bind", default_directory() / name, self.images / name)

    def take_images(self) -> None:
        unmount_lazily(self.images / name for name in IMAGES)

    @contextmanager
    def full_disk(self, directory: str = "disks") -> Iterator[None]:
        """In the block there is no room for the disk of a site, or for what else the directory is for."""
        _mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", self.data / directory)
        try:
            yield
        finally:
            unmount_lazily([self.data / directory])

    def names_of_disks(self) -> set[str]:
        return names_in(self.data / "disks")

    def leftovers(self, alive: Collection[Site]) -> dict[str, set[str]]:
        """What is on the node and belongs to no living site, and what such a site lacks."""
        datasets = {site.name: site.dataset for site in alive}
        return find_leftovers(self.data, self.images, self.server.socket, datasets, self.known)

    def end(self) -> None:
        remove_leftover_containers(self.data / "hosting" / "runc", container_prefix(self.data))
        remove_leftover_containers(self.data / "hosting" / "runc-jobs", container_prefix(self.data))
        unmount_below(self.data)
        for memory in MEMORY.glob(f"{container_prefix(self.data)}*"):
            shutil.rmtree(memory)
        self.take_images()


def signal_processes(cgroup: str, number: signal.Signals) -> None:
    for pid in cgroups.processes(cgroup):
        os.kill(pid, number)


def _has_pending(pid: int, number: signal.Signals) -> bool:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("ShdPnd:"):
            return bool(int(line.split()[1], 16) & 1 << number - 1)
    return False


def _mount(*words: str | Path) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)  # noqa: S607


def unmount_lazily(directories: Iterable[Path]) -> None:
    for directory in directories:
        if directory in mounted_below(directory):
            subprocess.run(["umount", "--lazy", directory], check=True, capture_output=True)  # noqa: S607


@asynccontextmanager
async def start_faulty_node(agent: NodeHarness, *, holding: bool = False) -> AsyncIterator[FaultyNode]:
    node = FaultyNode(agent)
    node.holds.mkdir()
    node.add_images()
    node.start(holding=holding)
    try:
        yield node
    finally:
        await agent.kill()
        await asyncio.to_thread(node.end)
        await node.server.stop()
        if nginx := find_nginx():
            # It outlives the agent, like MariaDB.
            await DatabaseGate(node.data / "hosting" / "gate", node.server.socket, nginx).stop()


def _loader_of(schema: str) -> int | None:
    """The process that loads the dump."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if words[0].endswith(b"mariadb") and f"--user={schema}".encode() in words:
                return int(path.parent.name)
    return None
