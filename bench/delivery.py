"""Delivery: what a push costs over the same commands by hand, and how fast an old release is back.

The project is a usual one: a bundler, a framework, eighty packages. Both sides build it in the same
sandbox, with a warm cache of packages each.
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
from stead.node.processes import Processes
from stead.node.settings import from_environment
from stead.protocol.work import Build, GitSource
from tests.git_server import GitServer, Repository
from tests.journeys.customer import Customer
from tests.journeys.forge import Forge

ROUNDS, ROLLBACKS = 5, 60
DOMAIN = "bench.example.com"
POLL = 0.001
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
_BY_HAND = (
    # The repository of this benchmark is on loopback, and the way out of the sandbox is a proxy.
    "set -e; env -u no_proxy -u NO_PROXY git clone --quiet --depth 1 --branch main {url} site; cd site;"
    " npm ci; npm run build; cp -r dist /work/home/published-{number}"
)


class Project:
    """What somebody works on."""

    def __init__(self, repository: Repository, lockfile: str) -> None:
        self.url = repository.url
        self._repository, self._lockfile, self._round = repository, lockfile, 0

    def commit(self) -> tuple[str, str]:
        """The commit, and what visitors read when it is live."""
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
    """All of Stead, and a site of a repository."""

    stack: RunningStack
    customer: Customer
    project: Project
    visitor: Visitor
    forge: Forge
    production: str
    """Its address in the API."""

    async def shows(self, words: str, *, within: float) -> None:
        """Until a visitor reads that."""
        async with asyncio.timeout(within):
            while True:
                # nginx ends a connection after a thousand requests.
                with suppress(Disconnected):
                    if words in self.visitor.get(DOMAIN).body.decode():
                        return
                await asyncio.sleep(POLL)


async def overhead(_: Bench) -> Result:
    """From a push to its bytes, against the commands by hand."""
    async with _delivery() as it:
        by_hand = _ByHand(it)
        ours: list[float] = []
        hand: list[float] = []
        stages: list[dict[str, float]] = []
        for number in range(ROUNDS + 1):
            commit, words = it.project.commit()
            hand.append(await by_hand.seconds(number))
            began = time.time()
            (decision,) = await it.forge.tell("main", commit)
            await it.shows(words, within=300)
            ours.append(time.time() - began)
            stages.append(await _stages(it, str(decision["job_id"]), began))
    # The first of each fills its cache of packages.
    ratios = [mine / bare for mine, bare in zip(ours[1:], hand[1:], strict=True)]
    return Result(
        median(ratios),
        1.3,
        [
            f"ratio {spread(ratios)}",
            f"push to live: {median(ours[1:]):.2f} s; by hand in the same sandbox: {median(hand[1:]):.2f} s",
            f"with cold caches: {ours[0]:.2f} s and {hand[0]:.2f} s",
            *(f"{name} {spread([each[name] for each in stages[1:]])} s" for name in stages[-1]),
        ],
    )


async def _stages(it: Delivery, job: str, began: float) -> dict[str, float]:
    """Seconds of each part, by the clocks of the rows and of the node's journal."""
    build = await _row(it, "select finished_at from jobs where id = $1", job)
    deploy = await _row(
        it,
        "select finished_at from jobs where type = 'deployment.deploy_artifact' and finished_at is not null"
        " order by created_at desc limit 1",
    )
    taken, ended = _on_node(it, job, "build")
    return {
        "until the node builds": taken - began,
        "on the node": ended - taken,
        "signed and stored": build["finished_at"].timestamp() - ended,
        "deployed": (deploy["finished_at"] - build["finished_at"]).total_seconds(),
    }


async def _row(it: Delivery, query: str, *args: object) -> Any:
    connection = await asyncpg.connect(it.stack[Postgres].url)
    try:
        return await connection.fetchrow(query, *args)
    finally:
        await connection.close()


def _on_node(it: Delivery, job: str, step: str) -> tuple[float, float]:
    journal = it.stack.node_data / "journal.sqlite"
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as database:
        query = "select taken_at, ended_at from steps where job = ? and step = ?"
        taken, ended = database.execute(query, (job, step)).fetchone()
    return float(taken), float(ended)


class _ByHand:
    """One sandbox like those of builds, in which somebody types."""

    def __init__(self, it: Delivery) -> None:
        settings = from_environment(it.stack.node_environment(LOCAL_NODE, it.stack.directory.path / "hand"))
        settings.data.mkdir(exist_ok=True, mode=0o711)
        self._it = it
        self._builder = assembly.static_builder(settings, Processes("bench").run, settings.data / "builds")

    async def seconds(self, number: int) -> float:
        builder, url = self._builder, self._it.project.url
        said: list[bytes] = []

        async def hear(_: str, data: bytes) -> None:
            said.append(data)

        async def told(text: str) -> None:
            said.append(text.encode())

        script = _BY_HAND.format(url=url, number=number)
        wanted = Build("static", GitSource(url, "main"), "")
        async with (
            builder.workspaces.acquire() as workspace,
            builder.caches.borrow("by-hand", workspace.cache, workspace.owner) as cache,
        ):
            mounts = (BindMount(cache, "/cache", writable=True),) if cache else ()
            environment = builder.environment(wanted, cached=True)
            process = ContainerProcess(("sh", "-c", script), environment, SOURCE, mounts)
            host, _, port = url.removeprefix("https://").partition("/")[0].partition(":")
            rules = builder.rules.plus(HostRule(host, int(port)))
            began = time.time()
            async with EgressProxy(rules, told).listen(workspace.egress):
                ended = await builder.sandbox.run(workspace, process, hear)
            taken = time.time() - began
        if ended.code != 0:
            raise CouldNotRun(f"by hand it does not build: {b''.join(said)[-500:].decode()}")
        return taken


async def rollback(_: Bench) -> Result:
    """From the request to the old bytes."""
    async with _delivery() as it:
        ids: list[tuple[str, str]] = []
        for _round in range(2):
            commit, words = it.project.commit()
            await it.forge.tell("main", commit)
            await it.shows(words, within=300)
            live = await _settled(it)
            ids.append((live["id"], words))
        taken: list[float] = []
        parts: list[dict[str, float]] = []
        for number in range(ROLLBACKS):
            deployment, words = ids[number % 2]
            began = time.time()
            job = await it.customer.post(f"{it.production}/deployments/{deployment}/rollback")
            answered = time.time()
            await it.shows(words, within=30)
            seen = time.time()
            taken.append(1000 * (seen - began))
            parts.append({"answered": 1000 * (answered - began), **await _parts(it, job["id"], began)})
            await _settled(it)
    cuts = quantiles(taken, n=100)
    return Result(
        cuts[49],
        250,
        [
            f"p50 {cuts[49]:.0f} ms, p99 {cuts[98]:.0f} ms, from the request to new bytes, {ROLLBACKS} times",
            *(f"{name} after {median([each[name] for each in parts]):.0f} ms" for name in parts[-1]),
        ],
    )


async def _parts(it: Delivery, job: str, began: float) -> dict[str, float]:
    row = await _row(it, "select dispatched_at from jobs where id = $1", job)
    fetch, probe = _on_node(it, job, "fetch"), _on_node(it, job, "probe")
    moments = {
        "dispatched": row["dispatched_at"].timestamp(),
        "node had it": fetch[1],
        "node had tried it": probe[1],
    }
    return {name: 1000 * (moment - began) for name, moment in moments.items()}


async def _settled(it: Delivery) -> dict[str, Any]:
    """The live deployment, when nothing is under way any more."""
    async with asyncio.timeout(60):
        while True:
            found = await it.customer.get(f"{it.production}/deployments")
            if found and found[0]["status"] == "live":
                return dict(found[0])
            await asyncio.sleep(0.02)


@asynccontextmanager
async def _delivery() -> AsyncIterator[Delivery]:
    """Without a certificate authority, so that the site is visited over one plain connection."""
    scratch, authority = _scratch()
    server = GitServer(scratch / "repositories")
    settings = {
        "STEAD_BUILD_NETWORKS": "127.0.0.0/8",
        "STEAD_BUILD_TRUST": str(scratch / "trust.pem"),
        "STEAD_GIT_NETWORKS": "127.0.0.0/8",
    }
    try:
        lockfile = await _lockfile(scratch / "lock")
        async with (
            server.open(authority.server_context(server.host)),
            run_stack(scratch / "data", [*CORE_ENGINES, Nginx, *STEAD_PROGRAMS], settings=settings) as stack,
        ):
            customer = Customer(stack)
            async with customer.api:
                yield await _opened(stack, customer, Project(server.create(), lockfile))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _scratch() -> tuple[Path, CertificateAuthority]:
    made = Path(tempfile.mkdtemp(prefix="stead-bench-delivery-"))
    made.chmod(0o711)
    for each in ("repositories", "lock"):
        (made / each).mkdir()
    (made / "lock" / "package.json").write_text(json.dumps(_PACKAGE))
    authority = CertificateAuthority(made)
    (made / "trust.pem").write_bytes(SYSTEM_TRUST.read_bytes() + authority.root_file.read_bytes())
    return made, authority


async def _opened(stack: RunningStack, customer: Customer, project: Project) -> Delivery:
    _, words = project.commit()
    wanted = {"domain": DOMAIN, "profile": "static", "git_repo": project.url, "git_branch": "main"}
    job = await customer.does("POST", "/v1/sites", wanted)
    site = f"/v1/sites/{job['resource']['site_id']}"
    routes = {"rules": [{"pattern": "main", "target": "live"}], "roll_hook_secret": True}
    connection = await customer.put(f"{site}/branch-routes", routes)
    forge = Forge(connection["hook_url"], connection["hook_secret"], project.url)
    visitor = Visitor(stack[Nginx].address)
    it = Delivery(stack, customer, project, visitor, forge, f"{site}/environments/production")
    await it.shows(words, within=300)
    await _settled(it)
    return it


async def _lockfile(place: Path) -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise CouldNotRun("npm is not installed")
    argv = [npm, "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = await run(argv, env=dict(os.environ), cwd=place)
    if done.code != 0:
        raise CouldNotRun(f"npm made no lockfile: {done.errors[-300:]}")
    return (place / "package-lock.json").read_text()
