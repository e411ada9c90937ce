"""Snapshots of static sites on a complete installation, with an object store and a repository gateway."""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stead.dev.programs import Repositories
from tests.control.environments.live import Live, start_installation
from tests.preloaded.processes import run

DOCUMENT = Path(__file__).parents[3] / "docs" / "backups.md"
CUSTOMERS, _, _ = DOCUMENT.read_text().partition("# For operators")


@pytest.fixture(scope="module")
async def live() -> AsyncIterator[Live]:
    async with start_installation() as live:
        yield live


async def test_a_snapshot_brings_a_release_and_redirects_back_and_can_be_restored_again(live: Live) -> None:
    site, domain = await live.create_site()
    production = (await live.read(site, "production"))["id"]
    await live.deploy(site, production, "one")
    rules = {"redirects": [{"from": "/away", "to": "/", "code": 302}]}
    await live.complete("PUT", f"/v1/sites/{site}/redirects", rules)
    taken = await live.complete("POST", f"/v1/sites/{site}/backup")
    snapshot = taken["result"]["snapshot_id"]
    (shown,) = await live.harness.read_list(f"/v1/sites/{site}/snapshots")
    assert (shown["id"], shown["kind"]) == (snapshot, "on_demand")
    assert shown["verified_at"] is not None

    await live.deploy(site, production, "two")
    await live.complete("PUT", f"/v1/sites/{site}/redirects", {"redirects": []})
    for _ in range(2):
        restored = await live.complete("POST", f"/v1/sites/{site}/snapshots/{snapshot}/restore")
        assert restored["result"]["snapshot_id"] == snapshot
        assert (await live.visit(domain)).text == "one"
        assert (await live.visit(domain, "/away")).status_code == 302
    kinds = [each["kind"] for each in await live.harness.read_list(f"/v1/sites/{site}/snapshots")]
    assert kinds == ["before_restore", "before_restore", "on_demand"]

    # What was there before can be brought back, too.
    before = (await live.harness.read_list(f"/v1/sites/{site}/snapshots"))[1]["id"]
    await live.complete("POST", f"/v1/sites/{site}/snapshots/{before}/restore")
    assert (await live.visit(domain)).text == "two"
    assert (await live.visit(domain, "/away")).status_code == 404
    history = await live.harness.read_list(f"/v1/sites/{site}/environments/production/deployments")
    assert [each["kind"] for each in history] == ["restore", "restore", "restore", "deploy", "deploy"]


async def test_without_the_gateway_nothing_changes_and_the_failure_is_shown(live: Live) -> None:
    site, domain = await live.create_site()
    production = (await live.read(site, "production"))["id"]
    await live.deploy(site, production, "as it was")
    snapshot = (await live.complete("POST", f"/v1/sites/{site}/backup"))["result"]["snapshot_id"]
    await live.deploy(site, production, "newer")
    await live.harness.stack.stop(Repositories)
    try:
        failed = await live.run_job("POST", f"/v1/sites/{site}/backup")
        assert (failed["status"], failed["error"]["code"]) == ("failed", "backup.store_unavailable")
        failed = await live.run_job("POST", f"/v1/sites/{site}/snapshots/{snapshot}/restore")
        assert (failed["status"], failed["error"]["code"]) == ("failed", "backup.store_unavailable")
        assert (await live.visit(domain)).text == "newer"
        status = await live.harness.ask("GET", "/v1/backups/status", status=200)
        (row,) = [each for each in status["sites"] if each["site_id"] == site]
        assert row["last_backup_status"] == "failed"
        assert row["latest_snapshot_at"] is not None
    finally:
        await live.harness.stack.start(Repositories)
    await live.complete("POST", f"/v1/sites/{site}/snapshots/{snapshot}/restore")
    assert (await live.visit(domain)).text == "as it was"


async def test_a_deleted_site_leaves_a_last_snapshot(live: Live) -> None:
    site, domain = await live.create_site()
    production = (await live.read(site, "production"))["id"]
    await live.deploy(site, production, "to be deleted")
    await live.complete("DELETE", f"/v1/sites/{site}", {"confirm_domain": domain})
    (last,) = await live.harness.read_list(f"/v1/sites/{site}/snapshots")
    assert (last["kind"], last["retention_reason"]) == ("site_deleted", "site_deleted")
    await live.complete("POST", f"/v1/sites/{site}/recover")
    assert (await live.visit(domain)).text == "to be deleted"
    await live.complete("POST", f"/v1/sites/{site}/snapshots/{last['id']}/restore")
    assert (await live.visit(domain)).text == "to be deleted"


async def test_the_commands_of_the_documentation_work(live: Live) -> None:
    site, domain = await live.create_site()
    await live.deploy(site, (await live.read(site, "production"))["id"], "documented")
    settings = {
        "PATH": os.environ["PATH"],
        "STEAD_API_KEY": live.harness.client.headers["authorization"].removeprefix("Bearer "),
        "STEAD_BASE_URL": str(live.harness.client.base_url).rstrip("/"),
        "site": site,
    }
    commands = re.findall(r"^```bash\n(.*?)^```", CUSTOMERS, re.MULTILINE | re.DOTALL)
    assert len(commands) == 3
    script = "set -euo pipefail\n" + "\n".join(commands)
    done = await run(["bash", "-c", script], env=settings)
    assert done.code == 0, (done.output, done.errors)
    assert (await live.visit(domain)).text == "documented"
    kinds = [each["kind"] for each in await live.harness.read_list(f"/v1/sites/{site}/snapshots")]
    assert kinds == ["before_restore", "on_demand"]
