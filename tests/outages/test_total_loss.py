"""The node and the first object store are destroyed. A new node gets every site back from the second store,
with the commands of docs/backups.md."""

import asyncio
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import asyncpg
import msgspec
import pytest

from stead.control.engines.postgres import Database
from stead.dev.build_image import build_settings
from stead.dev.engines.nginx import Nginx
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.local_node import LOCAL_NODE
from stead.dev.programs import STEADCTL, NodeAgent, SshGateway
from stead.dev.running_stack import Kinds, RunningStack, run_stack
from stead.dev.stack import ALL_PROGRAMS
from stead.dev.supervised_program import clean_environment
from stead.node.snapshots.tree_scan import HASH_BYTES, decode
from stead.protocol.subjects import Program as Role
from stead.shared.clock import wall_clock
from tests.conftest import FIGURE
from tests.delivery.delivery import Delivery, Site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import Program, until
from tests.journeys.customer import Customer
from tests.journeys.visitor import Visitor
from tests.journeys.wordpress_site import create_wordpress_site
from tests.preloaded.processes import preloaded_programs, run

NEW_NODE = "node-new"
STATIC_DOMAIN = "returns.example.com"
DOCUMENT = Path(__file__).parents[2] / "docs" / "backups.md"
_, _, _AFTER = DOCUMENT.read_text().partition("### After a loss\n")
_LOSS, _, _DRILL = _AFTER.partition("### The drill\n")
FINGERPRINT = """
global $wpdb;
$rows = [];
foreach ($wpdb->get_col('show tables') as $table) {
    $where = match ($table) {
        $wpdb->options =>
            "option_name not like '%transient%' and option_name not in ('cron', 'recovery_keys')",
        $wpdb->postmeta => "meta_key not in ('_pingme', '_encloseme')",
        default => 'true',
    };
    foreach ($wpdb->get_results("select * from `$table` where $where", ARRAY_N) as $row) {
        $hash = sha1(serialize($row));
        echo 'row ', $table, ' ', $table === $wpdb->options ? $row[1] : $row[0], ' ', $hash, "\\n";
    }
}
$files = [];
foreach (new RecursiveIteratorIterator(new RecursiveDirectoryIterator(
    WP_CONTENT_DIR, FilesystemIterator::SKIP_DOTS)) as $file) {
    $files[] = substr($file, strlen(WP_CONTENT_DIR)) . ' ' . $file->getSize() . ' '
        . hash_file('sha256', $file);
}
sort($files);
echo 'files ', sha1(implode("\\n", $files)), ' ', count($files), "\\n";
"""
"""All rows and files, without what WordPress writes by itself."""
WRITE = "wp_mkdir_p(WP_CONTENT_DIR . '/uploads'); mt_srand(7); $text = '';"
WRITE += "for ($i = 0; $i < 400000; $i++) { $text .= chr(mt_rand(0, 255)); }"
WRITE += "file_put_contents(WP_CONTENT_DIR . '/uploads/%s.bin', $text . '%s');"


def _commands(text: str) -> str:
    blocks = re.findall(r"^ *```bash\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    return "set -euo pipefail\n" + "\n".join(blocks)


@dataclass
class Installation:
    stack: RunningStack
    delivery: Delivery
    customer: Customer
    visitor: Visitor
    second: RunningStack

    @property
    def settings(self) -> dict[str, str]:
        """Those of a worker, and the programs of an operator."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return clean_environment(self.stack.environment(Role.WORKER)) | {"PATH": path}

    async def sql(self, statement: str, *values: object) -> list[Any]:
        connection = await asyncpg.connect(self.settings["STEAD_DATABASE_URL"])
        try:
            return list(await connection.fetch(statement, *values))
        finally:
            await connection.close()

    async def bash(self, script: str, place: Path, **variables: str) -> str:
        command = ["bash", "-c", f"cd {place}\n{script}"]
        done = await run(command, env=self.settings | variables)
        assert done.code == 0, (done.output, done.errors)
        return done.output


def _make_directory() -> Path:
    made = Path(tempfile.mkdtemp(prefix="stead-loss-"))
    # PostgreSQL runs as another user, who must be able to enter.
    made.chmod(0o711)
    return made


@asynccontextmanager
async def _start_stack(programs: Kinds, settings: Mapping[str, str]) -> AsyncIterator[RunningStack]:
    data = await asyncio.to_thread(_make_directory)
    try:
        async with run_stack(data, programs, settings=settings) as stack:
            yield stack
    finally:
        await asyncio.to_thread(shutil.rmtree, data, ignore_errors=True)


def _offsite(second: RunningStack) -> dict[str, str]:
    settings = second[SeaweedFS].control_settings(Role.WORKER)
    return {name.replace("STEAD_S3", "STEAD_OFFSITE_S3"): value for name, value in settings.items()}


@pytest.fixture(scope="module")
async def installation() -> AsyncIterator[Installation]:
    with preloaded_programs():
        async with (
            _start_stack([SeaweedFS], {}) as second,
            _start_stack(ALL_PROGRAMS, _offsite(second)) as stack,
        ):
            customer, visitor = Customer(stack), await Visitor.of(stack)
            settings = stack.environment(Role.WORKER)
            database = Database(settings["STEAD_DATABASE_URL"], clock=wall_clock)
            # It needs only these of a harness.
            delivery = Delivery(cast("Harness", SimpleNamespace(stack=stack, database=database)))
            async with customer.api:
                yield Installation(stack, delivery, customer, visitor, second)
            await delivery.visitor.aclose()
            await database.close()


@dataclass
class Sites:
    static: str
    wordpress: str
    """Their paths in the API."""
    hosts: dict[str, str]
    """By what they are."""
    environments: dict[str, str]
    """Paths of the WordPress environments, by what they are."""

    @property
    def ids(self) -> list[str]:
        return [path.rpartition("/")[2] for path in (self.static, self.wordpress)]


async def _create_sites(it: Installation) -> Sites:
    customer = it.customer
    created = await customer.does("POST", "/v1/sites", {"domain": STATIC_DOMAIN, "profile": "static"})
    static = Site(created["resource"]["site_id"], created["result"]["env_id"], STATIC_DOMAIN)
    artifact = await it.delivery.artifact(static, {"index.html": "static words"})
    await customer.does("POST", f"{static.path}/deployments", {"artifact_id": artifact})

    wordpress = await create_wordpress_site(customer)
    production = f"{wordpress.path}/environments/production"
    await customer.run(production, "post", "create", "--post_title=Production", "--post_status=publish")
    await customer.run(production, "eval", WRITE % ("production", "of production"))
    made = await customer.does("POST", f"{wordpress.path}/environments", {"type": "staging"})
    staging = f"{wordpress.path}/environments/{made['result']['env_id']}"
    await customer.run(staging, "post", "create", "--post_title=Rehearsal", "--post_status=publish")
    await customer.run(staging, "eval", WRITE % ("staging", "of staging"))
    hosts = {
        "static": STATIC_DOMAIN,
        "production": wordpress.host,
        "staging": (await customer.get(staging))["subdomain"],
    }
    return Sites(
        f"/v1/sites/{static.id}", wordpress.path, hosts, {"production": production, "staging": staging}
    )


async def _wait_for_copies(it: Installation, sites: Sites) -> None:
    """The night comes, and everything is in the second store."""

    async def scheduled() -> bool:
        rows = await it.sql(
            "update backup_schedules set due_at = now() where site_id = any($1) and last_status is null"
            " and due_at > now() returning 1",
            sites.ids,
        )
        done = await it.sql("select from snapshots where site_id = any($1)", sites.ids)
        return not rows and bool(done)

    async def copied() -> bool:
        rows = await it.sql(
            "select env_id from snapshots where site_id = any($1) and status = 'kept'"
            " and verified_at is not null and synced_at is not null",
            sites.ids,
        )
        return len({row["env_id"] for row in rows}) == 3

    await until(scheduled, "backups are queued", bound=150, poll=1)
    await until(copied, "all environments are in the second store", bound=400, poll=1)


async def _take_fingerprints(it: Installation, sites: Sites) -> dict[str, set[str]]:
    found = {}
    for name, path in sites.environments.items():
        lines = await it.customer.run(path, "eval", FINGERPRINT)
        found[name] = {line for line in lines if line.startswith(("row ", "files "))}
        assert len(found[name]) > 100, lines
    page = (await it.visitor.get(sites.hosts["static"])).text
    return found | {"static": {hashlib.sha256(page.encode()).hexdigest()}}


async def _destroy(it: Installation) -> None:
    stack = it.stack
    for program in (SshGateway, NodeAgent, Nginx):
        await stack.stop(program)
    await stack.kill(SeaweedFS)
    await asyncio.to_thread(shutil.rmtree, stack.node_data)
    await asyncio.to_thread(shutil.rmtree, stack[SeaweedFS].instance.home / "data")
    await it.sql("update nodes set last_seen_at = now() - interval '1 hour' where id = $1", LOCAL_NODE)


@asynccontextmanager
async def _start_new_machines(it: Installation) -> AsyncIterator[None]:
    """An empty object store, and a node that has never seen a site."""
    stack = it.stack
    await stack[SeaweedFS].prepare()
    await stack.start(SeaweedFS)
    edge = stack[Nginx]
    edge.settings = msgspec.structs.replace(edge.settings, node_id=NEW_NODE)
    await edge.prepare()
    await stack.start(Nginx)
    await stack.add_node(NEW_NODE)
    await stack.enrol_node(NEW_NODE)
    settings = await build_settings() | stack.node_environment(NEW_NODE, stack.node_data)
    agent = Program([*STEADCTL, "node"], settings, stack.directory.logs / f"{NEW_NODE}.log")
    agent.start()
    try:
        await until(
            lambda: it.sql("select from nodes where id = $1 and last_seen_at is not null", NEW_NODE),
            "the new node has sent a heartbeat",
        )
        yield
    finally:
        await agent.stop()


async def _wait_for_restores(it: Installation, begun: float) -> Mapping[str, float]:
    """For each environment the seconds until its job had ended."""
    ended: dict[str, float] = {}

    async def look() -> bool:
        rows = await it.sql(
            "select status, params->'with'->>'environment' as env, error from jobs"
            " where type = 'backup.restore'"
        )
        for row in rows:
            assert row["status"] != "failed", row["error"]
            if row["status"] == "succeeded":
                ended.setdefault(row["env"], time.monotonic() - begun)
        waiting = await it.sql("select from jobs where status in ('queued', 'running')")
        return len(ended) == 2 and not waiting

    await until(look, "every environment is restored", bound=400, poll=0.5)
    return ended


def _require_listed_files(restored: Path) -> int:
    """What restic has restored is what its list says. Returns how many files."""
    count = 0
    for line in (restored / "files.list").read_bytes().splitlines():
        entry = decode(line)
        if entry.kind == b"f":
            file = restored / "files" / os.fsdecode(entry.path)
            found = hashlib.blake2b(file.read_bytes(), digest_size=HASH_BYTES).hexdigest()
            assert found.encode() == entry.hash, file
            count += 1
    return count


@pytest.mark.timeout(1500)
async def test_every_site_returns_from_the_second_store_with_equal_checksums(
    installation: Installation, tmp_path: Path, record_property
) -> None:
    it = installation
    sites = await _create_sites(it)
    await it.visitor.until(sites.hosts["staging"], "Rehearsal", within=120)
    for path in sites.environments.values():
        # What WordPress would do by itself between the fingerprint and the snapshot.
        await it.customer.run(path, "cron", "event", "run", "--due-now")
    before = await _take_fingerprints(it, sites)
    await _wait_for_copies(it, sites)

    # The drill, while everything is in service.
    await it.sql('create database "drill"')
    name = it.settings["STEAD_DATABASE_URL"]
    drill = await it.bash(
        _commands(_DRILL),
        tmp_path,
        site=sites.ids[1],
        drill_database=re.sub(r"/[^/?]+(\?|$)", r"/drill\1", name),
        drill_store=it.second[SeaweedFS].endpoint,
        drill_access_key=it.second.secrets["s3_access_key"],
        drill_secret_key=it.second.secrets["s3_secret_key"],
        STEAD_S3_BUCKET="drill",
    )
    for site in sites.ids:
        assert f"\n{site} " in drill
    assert _require_listed_files(tmp_path / "restored") > 0

    await _destroy(it)
    begun = time.monotonic()
    async with _start_new_machines(it):
        began = time.monotonic()
        recovered = await it.bash(_commands(_LOSS), tmp_path, lost=LOCAL_NODE)
        seconds = await _wait_for_restores(it, began)
        await it.visitor.until(sites.hosts["static"], "static words")
        await it.visitor.until(sites.hosts["production"], "Production", "/?after=loss")
        await it.visitor.until(sites.hosts["staging"], "Rehearsal", "/?after=loss")
        after = await _take_fingerprints(it, sites)
        different = {name: sorted(lines ^ after[name]) for name, lines in before.items()}
        assert not any(different.values()), different
        for path in sites.environments.values():
            assert (await it.customer.get(path))["status"] == "running"
        assert (await it.customer.get(sites.wordpress))["status"] == "running"
        sizes = await it.sql(
            "select env_id, max(size_bytes) as bytes from snapshots where site_id = any($1)"
            " and kind = 'scheduled' group by env_id",
            sites.ids,
        )
        record_property(FIGURE, recovered.rstrip())
        for row in sizes:
            took = seconds.get(row["env_id"])
            record_property(
                FIGURE,
                f"{row['env_id']}: {row['bytes']} bytes"
                + (f", restored {took:.1f} s after the first command" if took else ", a static site"),
            )
        record_property(FIGURE, f"everything: {time.monotonic() - begun:.1f} s since the loss")
