"""The time of a delivery compared with the same commands run manually, and the time of a rollback.

The project is a typical one: a bundler, a framework and eighty packages. Both sides build it in the same kind
of sandbox, each with a warm package cache.
"""

import asyncio
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import asyncpg

from bench.results import CouldNotRun, Result, spread
from bench.servers import Bench
from bench.visitor import Disconnected, Visitor
from stead.dev.certificate_authority import CertificateAuthority
from stead.dev.engines import CORE_ENGINES
from stead.dev.engines.nginx import Nginx
from stead.dev.engines.postgres import Postgres
from stead.dev.local_node import LOCAL_NODE
from stead.dev.programs import STEAD_PROGRAMS
from stead.dev.running_stack import RunningStack, run_stack
from stead.dev.subprocesses import run
from stead.node.builds import assembly
from stead.node.builds.sandbox import SOURCE
from stead.node.containers.bundle import BindMount, ContainerProcess
from stead.node.containers.egress_proxy import EgressProxy
from stead.node.containers.egress_rules import HostRule
from stead.node.disk_space import DiskSpace
from stead.node.processes import Processes
from stead.node.settings import from_environment
from stead.protocol.work.builds import Build, GitSource
from tests.git_server import GitServer, Repository
from tests.journeys.customer import Customer
from tests.journeys.forge import Forge

ROUNDS, ROLLBACKS = 5, 60
DOMAIN = "bench.example.com"
POLL_INTERVAL = 0.001
SYSTEM_TRUST = Path("/etc/ssl/certs/ca-certificates.crt")
_PACKAGE = {
    "name": "bench",
    "private": True,
    "scripts": {"build": "webpack && cp index.html dist/"},
    "dependencies": {"react": "19.3.1", "react-dom": "19.3.1"},
    "devDependencies": {"webpack": "5.112.2", "webpack-cli": "7.3.1"},
}
_FILES = {
    "webpack.config.js": (
        'const rules = [{ test: /\\.txt$/, type: "asset/source" }];\n'
        'module.exports = { mode: "production", entry: "./main.js", module: { rules } };\n'
    ),
    "main.js": (
        'import { createElement } from "react";\n'
        'import { createRoot } from "react-dom/client";\n'
        'import words from "./words.txt";\n'
        'createRoot(document.getElementById("root")).render(createElement("h1", null, words));\n'
    ),
}
_MANUAL_BUILD = (
    # The repository of this benchmark is on loopback, and is only reachable through the proxy of the sandbox.
    "set -e; env -u no_proxy -u NO_PROXY git clone --quiet --depth 1 --branch main {url} site; cd site;"
    " npm ci; npm run build; cp -r dist /work/home/published-{number}"
)


class Project:
    """A repository with a project, which gets commits."""

    def __init__(self, repository: Repository, lockfile: str) -> None:
        self.url = repository.url
        self._repository, self._lockfile, self._round = repository, lockfile, 0

    def commit(self) -> tuple[str, str]:
        """Creates a commit. Returns it and the text that visitors see when it is live."""
        self._round += 1
        words = f"round {self._round}"
        page = f'<title>{words}</title><div id="root"></div><script src="/main.js"></script>'
        files = {
            **_FILES,
            "package.json": json.dumps(_PACKAGE),
            "package-lock.json": self._lockfile,
            "index.html": page,
            "words.txt": words,
        }
        return self._repository.commit("main", **files), words


@dataclass(frozen=True)
class Delivery:
    """All programs of Stead, and a site with a repository."""

    stack: RunningStack
    customer: Customer
    project: Project
    visitor: Visitor
    forge: Forge
    production: str
    """The path of its production environment in the API."""

    async def wait_until_shown(self, words: str, *, within: float) -> None:
        """Waits until a visitor sees the text."""
        async with asyncio.timeout(within):
            while True:
                # nginx closes a connection after a thousand requests.
                with suppress(Disconnected):
                    if words in self.visitor.get(DOMAIN).body.decode():
                        return
                await asyncio.sleep(POLL_INTERVAL)


async def compare_builds(_: Bench) -> Result:
    """Compares the time from a push until its page is served with the time of the same commands."""
    async with _run_delivery() as it:
        manual_build = _ManualBuild(it)
        deliveries: list[float] = []
        manual: list[float] = []
        stages: list[dict[str, float]] = []
        for number in range(ROUNDS + 1):
            commit, words = it.project.commit()
            manual.append(await manual_build.measure(number))
            started = time.time()
            (decision,) = await it.forge.tell("main", commit)
            await it.wait_until_shown(words, within=300)
            deliveries.append(time.time() - started)
            stages.append(await _read_stages(it, str(decision["job_id"]), started))
    # The first round is not counted: it fills the package caches.
    ratios = [one / other for one, other in zip(deliveries[1:], manual[1:], strict=True)]
    return Result(
        median(ratios),
        1.3,
        [
            f"ratio {spread(ratios)}",
            f"push to live: {median(deliveries[1:]):.2f} s; manually: {median(manual[1:]):.2f} s",
            f"with cold caches: {deliveries[0]:.2f} s and {manual[0]:.2f} s",
            *(f"{name} {spread([each[name] for each in stages[1:]])} s" for name in stages[-1]),
        ],
    )


async def _read_stages(it: Delivery, job: str, started: float) -> dict[str, float]:
    """The seconds of each stage, from the timestamps of jobs and of the journal of the node."""
    build = await _read_row(it, "select finished_at from jobs where id = $1", job)
    deploy = await _read_row(
        it,
        "select finished_at from jobs where type = 'deployment.deploy_artifact' and finished_at is not null"
        " order by created_at desc limit 1",
    )
    taken, ended = _read_journal(it, job, "build")
    return {
        "until the build begins": taken - started,
        "build on the node": ended - taken,
        "signing and storing": build["finished_at"].timestamp() - ended,
        "deployment": (deploy["finished_at"] - build["finished_at"]).total_seconds(),
    }


async def _read_row(it: Delivery, query: str, *args: object) -> Any:
    connection = await asyncpg.connect(it.stack[Postgres].url)
    try:
        return await connection.fetchrow(query, *args)
    finally:
        await connection.close()


def _read_journal(it: Delivery, job: str, step: str) -> tuple[float, float]:
    journal = it.stack.node_data / "journal.sqlite"
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as database:
        query = "select taken_at, ended_at from steps where job = ? and step = ?"
        taken, ended = database.execute(query, (job, step)).fetchone()
    return float(taken), float(ended)


class _ManualBuild:
    """A sandbox like those of builds, in which the commands are run directly."""

    def __init__(self, it: Delivery) -> None:
        settings = from_environment(it.stack.node_environment(LOCAL_NODE, it.stack.directory.path / "manual"))
        settings.data.mkdir(exist_ok=True, mode=0o711)
        self._it = it
        run, space = Processes("bench").run, DiskSpace(settings.data, settings.node_min_free_mb)
        self._builder = assembly.static_builder(settings, run, settings.data / "builds", space)

    async def measure(self, number: int) -> float:
        builder, url = self._builder, self._it.project.url
        output: list[bytes] = []

        async def on_output(_: str, data: bytes) -> None:
            output.append(data)

        async def on_message(text: str) -> None:
            output.append(text.encode())

        script = _MANUAL_BUILD.format(url=url, number=number)
        build = Build("static", GitSource(url, "main"), "")
        async with (
            builder.workspaces.acquire() as workspace,
            builder.caches.borrow("manual", workspace.cache, workspace.owner) as cache,
        ):
            mounts = (BindMount(cache, "/cache", writable=True),) if cache else ()
            environment = builder.environment(build, cached=True)
            process = ContainerProcess(("sh", "-c", script), environment, SOURCE, mounts)
            host, _, port = url.removeprefix("https://").partition("/")[0].partition(":")
            rules = builder.rules.plus(HostRule(host, int(port)))
            started = time.time()
            async with EgressProxy(rules, on_message).listen(workspace.egress):
                ended = await builder.sandbox.run(workspace, process, on_output)
            taken = time.time() - started
        if ended.code != 0:
            raise CouldNotRun(f"the manual build failed: {b''.join(output)[-500:].decode()}")
        return taken


async def measure_rollbacks(_: Bench) -> Result:
    """Measures the time from the request until the old page is served."""
    async with _run_delivery() as it:
        ids: list[tuple[str, str]] = []
        for _round in range(2):
            commit, words = it.project.commit()
            await it.forge.tell("main", commit)
            await it.wait_until_shown(words, within=300)
            live = await _wait_until_live(it)
            ids.append((live["id"], words))
        taken: list[float] = []
        parts: list[dict[str, float]] = []
        for number in range(ROLLBACKS):
            deployment, words = ids[number % 2]
            started = time.time()
            job = await it.customer.post(f"{it.production}/deployments/{deployment}/rollback")
            answered = time.time()
            await it.wait_until_shown(words, within=30)
            shown = time.time()
            taken.append(1000 * (shown - started))
            parts.append(
                {"answered": 1000 * (answered - started), **await _read_parts(it, job["id"], started)}
            )
            await _wait_until_live(it)
    cuts = quantiles(taken, n=100)
    return Result(
        cuts[49],
        250,
        [
            f"p50 {cuts[49]:.0f} ms, p99 {cuts[98]:.0f} ms, from request to new page, {ROLLBACKS} times",
            *(f"{name} after {median([each[name] for each in parts]):.0f} ms" for name in parts[-1]),
        ],
    )


async def _read_parts(it: Delivery, job: str, started: float) -> dict[str, float]:
    row = await _read_row(it, "select dispatched_at from jobs where id = $1", job)
    fetch, probe = _read_journal(it, job, "fetch"), _read_journal(it, job, "probe")
    moments = {
        "dispatched": row["dispatched_at"].timestamp(),
        "fetched on the node": fetch[1],
        "checked on the node": probe[1],
    }
    return {name: 1000 * (moment - started) for name, moment in moments.items()}


async def _wait_until_live(it: Delivery) -> dict[str, Any]:
    """Waits until the latest deployment is live, and returns it."""
    async with asyncio.timeout(60):
        while True:
            found = await it.customer.get(f"{it.production}/deployments")
            if found and found[0]["status"] == "live":
                return dict(found[0])
            await asyncio.sleep(0.02)


@asynccontextmanager
async def _run_delivery() -> AsyncIterator[Delivery]:
    """Runs without a certificate authority, so that the site is visited over one unencrypted connection."""
    scratch, authority = _create_scratch()
    server = GitServer(scratch / "repositories")
    settings = {
        "STEAD_BUILD_NETWORKS": f"127.0.0.0/8:{server.port}",
        "STEAD_BUILD_TRUST": str(scratch / "trust.pem"),
        "STEAD_GIT_NETWORKS": "127.0.0.0/8",
        "STEAD_GIT_PORTS": str(server.port),
    }
    try:
        lockfile = await _create_lockfile(scratch / "lock")
        async with (
            server.open(authority.server_context(server.host)),
            run_stack(scratch / "data", [*CORE_ENGINES, Nginx, *STEAD_PROGRAMS], settings=settings) as stack,
        ):
            customer = Customer(stack)
            async with customer.api:
                yield await _create_site(stack, customer, Project(server.create(), lockfile))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _create_scratch() -> tuple[Path, CertificateAuthority]:
    path = Path(tempfile.mkdtemp(prefix="stead-bench-delivery-"))
    path.chmod(0o711)
    for each in ("repositories", "lock"):
        (path / each).mkdir()
    (path / "lock" / "package.json").write_text(json.dumps(_PACKAGE))
    authority = CertificateAuthority(path)
    (path / "trust.pem").write_bytes(SYSTEM_TRUST.read_bytes() + authority.root_file.read_bytes())
    return path, authority


async def _create_site(stack: RunningStack, customer: Customer, project: Project) -> Delivery:
    _, words = project.commit()
    wanted = {"domain": DOMAIN, "profile": "static", "git_repo": project.url, "git_branch": "main"}
    job = await customer.does("POST", "/v1/sites", wanted)
    site = f"/v1/sites/{job['resource']['site_id']}"
    routes = {"rules": [{"pattern": "main", "target": "live"}], "roll_hook_secret": True}
    connection = await customer.put(f"{site}/branch-routes", routes)
    forge = Forge(connection["hook_url"], connection["hook_secret"], project.url)
    visitor = Visitor(stack[Nginx].address)
    it = Delivery(stack, customer, project, visitor, forge, f"{site}/environments/production")
    await it.wait_until_shown(words, within=300)
    await _wait_until_live(it)
    return it


async def _create_lockfile(directory: Path) -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise CouldNotRun("npm is not installed")
    argv = [npm, "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"]
    completed = await run(argv, env=dict(os.environ), cwd=directory)
    if completed.code != 0:
        raise CouldNotRun(f"npm created no lockfile: {completed.errors[-300:]}")
    return (directory / "package-lock.json").read_text()
