"""Backups of a WordPress site: taken, verified and restored, also of a site that is broken."""

from typing import Any

import pytest

from tests.journeys.customer import Customer
from tests.journeys.visitor import Visitor
from tests.journeys.wordpress_site import WordPressSite

BREAK = "file_put_contents(WPMU_PLUGIN_DIR . '/broken.php', '<?php throw new Exception(1);');"
WRITE = "wp_mkdir_p(WPMU_PLUGIN_DIR); file_put_contents(WP_CONTENT_DIR . '/uploads/kept.txt', 'kept');"


async def _snapshots(customer: Customer, site: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await customer.get(f"{site}/snapshots")
    return found


@pytest.mark.timeout(900)
async def test_a_broken_site_is_restored_and_a_restore_that_breaks_it_is_undone(
    customer: Customer, visitor: Visitor, wordpress_site: WordPressSite
) -> None:
    site, host = wordpress_site.path, wordpress_site.host
    production = f"{site}/environments/production"
    await customer.run(production, "post", "create", "--post_title=Treasure", "--post_status=publish")
    await customer.run(production, "eval", WRITE)
    taken = await customer.does("POST", f"{site}/backup")
    snapshot = taken["result"]["snapshot_id"]
    (shown,) = [each for each in await _snapshots(customer, site) if each["id"] == snapshot]
    assert shown["verified_at"] is not None
    assert shown["size_bytes"] > 0

    await customer.run(production, "option", "update", "blogname", "Changed since")
    await customer.run(production, "eval", f"unlink(WP_CONTENT_DIR . '/uploads/kept.txt'); {BREAK}")
    assert (await visitor.get(host, "/?after=damage")).status == 500

    await customer.does("POST", f"{site}/snapshots/{snapshot}/restore")
    await visitor.until(host, "Treasure", "/?after=restore")
    page = await visitor.get(host, "/?after=restore")
    assert "Changed since" not in page.text
    assert (await visitor.get(host, "/wp-content/uploads/kept.txt")).text == "kept"

    # The copy from before is of the broken site. Restoring it fails, and the site answers as it did.
    before = (await _snapshots(customer, site))[0]
    assert before["kind"] == "before_restore"
    async with visitor.visiting(host) as seen:
        job = await customer.post(f"{site}/snapshots/{before['id']}/restore")
        failed = await customer.follow(job["id"], status="failed")
        assert failed["error"]["code"] == "deploy.unhealthy"
        # The same snapshot can be restored as often as somebody wants to.
        await customer.does("POST", f"{site}/snapshots/{snapshot}/restore")
    await visitor.until(host, "Treasure", "/?after=return")
    assert seen
    status = await customer.get("/v1/backups/status")
    (row,) = [each for each in status["sites"] if site.endswith(each["site_id"])]
    assert (row["last_backup_status"], status["truncated"]) == ("succeeded", False)
