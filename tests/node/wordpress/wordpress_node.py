"""A node with MariaDB, the WordPress driver and an edge, as real processes in a directory of its own."""

import asyncio
import itertools
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from stead.mariadb.connection import connect
from stead.mariadb.server_settings import ServerSettings
from stead.node.containers.disks import Disks, unmount_below
from stead.node.containers.egress_rules import EgressRules, HostRule
from stead.node.containers.limits import MEMORY
from stead.node.containers.runc import Runc, remove_leftover_containers
from stead.node.containers.services import Services
from stead.node.databases.databases import Databases
from stead.node.databases.names import schema_name
from stead.node.databases.node_databases import NodeDatabases, make_gate
from stead.node.databases.server import DatabaseServer
from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Assignment
from stead.node.drivers.layout import edge_store
from stead.node.drivers.releases import Releases
from stead.node.drivers.static_runtime import StaticRuntime
from stead.node.feed.record_store import list_suspended
from stead.node.feed.run_directory import ADMIN_SOCKET
from stead.node.hosting.desired_state import DesiredState
from stead.node.hosting.environment import HostedEnvironment
from stead.node.hosting.hosts import Hosts
from stead.node.hosting.wake_budget import WakeBudget
from stead.node.images.image_store import ImageStore
from stead.node.processes import Processes
from stead.node.snapshots.restic import Restic
from stead.node.wordpress.captured_mail import CapturedMails
from stead.node.wordpress.cron_schedule import CronSchedule
from stead.node.wordpress.mail import SiteMail
from stead.node.wordpress.mail_relay import MailRelay
from stead.node.wordpress.mail_spool import MailSpool
from stead.node.wordpress.paths import EnvironmentPaths, container_prefix
from stead.node.wordpress.purge_queue import PurgeQueue
from stead.node.wordpress.runtime import WordPressRuntime
from stead.node.wordpress.sign_ins import Ask, SignIns, ask_nobody
from stead.node.wordpress.site_log import write_to_log
from stead.node.wordpress.site_services import SiteServices
from stead.node.wordpress.spec import WordPressSecrets, WordPressSpec
from stead.protocol.edge_records import EnvironmentRecord, HostRecord
from stead.protocol.work.hosting import (
    EnsureEnvironment,
    PrepareDataset,
    Probe,
    RemoveEnvironment,
    WordPressSettings,
)
from stead.protocol.work.releases import EnsureRelease
from stead.shared.ids import EnvironmentId, new_id
from tests.edge.edge_harness import EdgeHarness, start_edge
from tests.node.driver_pairs import CapturedOutput

KEY = bytes(range(32))
REGION = "us-east"
PASSWORD = "correct horse battery staple"
CLONE: dict[str, Any] = {"admin_password": "", "environment_type": "staging"}
LIMITS = {"memory_mb": 256, "processes": 48, "cpus": 1.0, "disk_mb": 256, "workers": 3}

_HOSTS = itertools.count(1)


@dataclass
class Site:
    """A WordPress site on the node, seen from outside."""

    node: "WordPressNode"
    environment: str
    host: str
    numbers: dict[str, str] = field(default_factory=dict)
    """The numbers of its posts, by name."""
    dataset: str = ""
    """What it serves."""

    @property
    def paths(self) -> EnvironmentPaths:
        return EnvironmentPaths(self.node.data, self.environment, self.dataset)

    @property
    def schema(self) -> str:
        return schema_name(EnvironmentId(self.environment), self.dataset)

    @property
    def hosted(self) -> HostedEnvironment:
        found = self.node.hosts.find(self.environment)
        assert found is not None
        return found

    @property
    def assignment(self) -> Assignment:
        return Assignment(new_id("job"), "site_x", self.environment, self.node.output)

    async def get(self, path: str = "/", **options: Any) -> httpx.Response:
        return await self.node.edge.get(self.host, path, **options)

    async def sign_in(self, client: httpx.AsyncClient) -> httpx.Response:
        form = {"log": "admin", "pwd": PASSWORD, "wp-submit": "Log In", "testcookie": "1"}
        return await client.post("/wp-login.php", data=form)

    def client(self) -> httpx.AsyncClient:
        """A browser of its own: it keeps cookies."""
        return httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{self.node.edge.port}",
            headers={"host": self.host},
            cookies={"wordpress_test_cookie": "WP%20Cookie%20check"},
            timeout=60,
        )

    def put_script(self, name: str, code: str) -> str:
        """A PHP file, as a customer can install it. Returns its path."""
        folder = self.paths.content / "plugins"
        (folder / name).write_text(f"<?php\n{code}\n")
        return f"/wp-content/plugins/{name}"

    def put_mu_plugin(self, name: str, code: str) -> Path:
        """Code that every request runs."""
        folder = self.paths.content / "mu-plugins"
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        (folder / name).write_text(f"<?php\n{code}\n")
        return folder / name

    async def run_php(self, code: str) -> str:
        """What the code prints, run by a request."""
        path = self.put_script(f"run-{next(_HOSTS)}.php", code)
        response = await self.get(path)
        assert response.status_code == 200, response.text[:500]
        return response.text

    def query(self, statement: str) -> list[tuple[object, ...]]:
        with connect(self.node.databases.databases.socket) as connection:
            return list(connection.execute(statement.replace("{schema}", f"`{self.schema}`")))


@dataclass
class WordPressNode:
    edge: EdgeHarness
    databases: NodeDatabases
    output: CapturedOutput = field(default_factory=CapturedOutput)
    idle_seconds: float = 900.0
    mail_relay: str = ""
    mail_per_hour: int = 20
    ask_sign_in: Ask = ask_nobody
    """The control plane, for sign-in links."""
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _announcing: asyncio.Lock = field(default_factory=asyncio.Lock)

    state: DesiredState[WordPressSpec, WordPressSecrets] = field(init=False)
    runtime: WordPressRuntime = field(init=False)
    hosts: Hosts = field(init=False)
    releases: Releases = field(init=False)

    @property
    def data(self) -> Path:
        return self.edge.data

    async def start_agent(self) -> None:
        run, home = Processes("wordpress-tests").run, self.data / "hosting"
        for directory in (self.data / "environments", home):
            directory.mkdir(exist_ok=True)
            directory.chmod(0o755)
        space = DiskSpace(self.data, 64)
        self.releases = StaticRuntime(self.data, set, space).releases
        self.hosts = Hosts(Services(home / "runc"), WakeBudget(), idle_seconds=self.idle_seconds)
        self.state = DesiredState(home / "wordpress.sqlite", WordPressSpec, WordPressSecrets, KEY)
        self.runtime = WordPressRuntime(
            self.data,
            self.state,
            self.hosts,
            self.databases,
            ImageStore(),
            Disks(run),
            Runc(run, home / "runc-jobs"),
            EgressRules(tuple(HostRule("*", port) for port in (80, 443, 465))),
            space,
            self.releases,
            self._services(home),
            list_suspended=partial(list_suspended, edge_store(self.data), REGION),
            restic=Restic(run, lambda access: access.url),
        )
        self._tasks = [asyncio.create_task(work()) for work in self.runtime.background_tasks().values()]

    def _services(self, home: Path) -> SiteServices:
        async def write_log(environment: str, text: str) -> None:
            await write_to_log(EnvironmentPaths(self.data, environment), text)

        relay = MailRelay(self.mail_relay) if self.mail_relay else None
        spool = MailSpool(home / "mail.sqlite", self.mail_per_hour)
        return SiteServices(
            PurgeQueue(self.edge.run / ADMIN_SOCKET),
            CronSchedule(home / "cron.sqlite"),
            SiteMail(spool, relay, "bounces@platform.example", write_log),
            CapturedMails(),
            SignIns(lambda *request: self.ask_sign_in(*request)),
        )

    async def stop_agent(self) -> None:
        """As when the agent's process ends: containers and MariaDB continue."""
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    async def reboot(self) -> None:
        """Everything that a power cut ends has ended, except the edge."""
        await self.stop_agent()
        assert self.databases.server is not None
        for program in (self.databases.server, self.databases.gate):
            pid = program.find_process() if program is not None else None
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
        await asyncio.to_thread(self._clear)
        # The next agent knows nothing of what the one before has started.
        self.databases = _find_databases(self.edge)
        await self.start_agent()

    def _clear(self) -> None:
        """End the containers, and remove what is in memory."""
        remove_leftover_containers(self.data / "hosting" / "runc", container_prefix(self.data))
        unmount_below(self.data)
        for memory in MEMORY.glob(f"{container_prefix(self.data)}*"):
            shutil.rmtree(memory)

    async def create(self, **settings: Any) -> Site:
        site = Site(self, new_id("env"), f"wp{next(_HOSTS)}.example.com")
        await self.ensure(site, **settings)
        await self.announce(site)
        return site

    async def ensure(
        self, site: Site, release: EnsureRelease | None = None, dataset: str = "", **settings: Any
    ) -> None:
        work = EnsureEnvironment("cms", release, self.settings(site, **settings), dataset)
        await self.runtime.ensure_environment(site.assignment, work)

    def settings(self, site: Site, **settings: Any) -> WordPressSettings:
        return WordPressSettings(
            **{
                "php": "8.2",
                "url": f"https://{site.host}",
                "title": "A Site",
                "admin_user": "admin",
                "admin_email": "admin@example.com",
                "admin_password": PASSWORD,
                **LIMITS,
                **settings,
            }
        )

    async def copy(self, source: Site, target: Site | None = None, **options: Any) -> Site:
        """Fill an environment, which is new unless it is given, with the content of another one."""
        made = target or Site(self, new_id("env"), f"wp{next(_HOSTS)}.example.com")
        dataset = await self.prepare(made, source.environment, hosts=(source.host,), **options)
        await self.switch(made, dataset)
        if target is None:
            await self.announce(made)
        return made

    async def prepare(self, site: Site, source: str = "", **options: Any) -> str:
        """Make another dataset, and return its name."""
        dataset, settings = new_id("job")[-14:], self.settings(site, **CLONE)
        work = PrepareDataset("cms", dataset, settings, source, **options)
        await self.runtime.datasets.prepare(site.assignment, work)
        return dataset

    async def switch(self, site: Site, dataset: str) -> None:
        await self.ensure(site, dataset=dataset, **CLONE)
        site.dataset = dataset

    async def deploy(self, site: Site, release: EnsureRelease) -> None:
        """As a deployment does: fetch, probe, switch."""
        await self.runtime.releases.ensure(site.assignment, release)
        wanted = Probe(site.host, release=release.digest.removeprefix("sha256:"), runtime="cms")
        await self.runtime.releases.probe(site.assignment, wanted)
        await self.ensure(site, release, git_managed=True)

    async def announce(self, site: Site, **fields: Any) -> None:
        record = EnvironmentRecord("site_x", self.edge.node, runtime="cms", waf="off", **fields)
        # The edge is told over one connection, also when sites are made at the same time.
        async with self._announcing:
            await self.edge.tell("environment", site.environment, record)
            await self.edge.tell("host", site.host, HostRecord(site.environment))

    async def remove(self, site: Site) -> None:
        await self.runtime.remove_environment(site.assignment, RemoveEnvironment())

    async def close(self) -> None:
        await self.stop_agent()
        await asyncio.to_thread(self._clear)
        if self.databases.gate is not None:
            await self.databases.gate.stop()
        if self.databases.server is not None:
            await self.databases.server.stop()


def nonce_in(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([0-9a-f]+)"', page)
    assert found, page[:2000]
    return found[1]


def _find_databases(edge: EdgeHarness) -> NodeDatabases:
    server = DatabaseServer(ServerSettings(edge.data / "mariadb", durable=False))
    return NodeDatabases(Databases(server.socket), server, make_gate(edge.data, server.socket))


@asynccontextmanager
async def start_wordpress_node(**options: Any) -> AsyncIterator[WordPressNode]:
    async with start_edge() as edge:
        (edge.data / "hosting").mkdir(exist_ok=True)
        node = WordPressNode(edge, _find_databases(edge), **options)
        await node.start_agent()
        try:
            yield node
        finally:
            await node.close()
