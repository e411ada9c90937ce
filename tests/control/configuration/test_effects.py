"""No setting is stored without effect: each one changes what the edges or the node are told, and has a
test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stead.control.configuration.rules import Configuration, resolve
from stead.control.configuration.schema import ConfigurationChange
from stead.control.configuration.service import prepare_settings
from stead.control.edge_feed.records import RecordSource, build_records
from stead.control.jobs.definition import NodeCommand
from stead.control.sealing import Sealer
from stead.control.wordpress import store as wordpress
from stead.protocol.edge_records import EdgeRecord, environment_key
from stead.protocol.work.hosting import EnsureEnvironment
from tests.control.configuration.setting_effects import EFFECTS
from tests.control.served_site import REGION, ServedSite

ROOT = Path(__file__).parents[3]
CHANGED: dict[str, Any] = {
    "security.waf_engine_mode": "on",
    "security.allowed_ips": ["192.0.2.0/24"],
    "security.hsts_seconds": 600,
    "security.waf_partner_client_id": "acme",
    "security.waf_partner_secret_key": "a-long-key-of-the-partner",
    "security.preview_protection": "team",
    "security.preview_password": "the second password",
    "performance.page_cache_ttl": 7,
    "performance.hot_page_count": 7,
    "performance.hot_ttl_seconds": 70,
    "performance.hot_refresh_interval_seconds": 70,
    "observability.trace_sample_rate": 0.5,
    "serving.headers": [{"for": "/*", "values": {"X-Frame-Options": "DENY"}}],
}
"""Another value than the default, for all settings of the edge that are not on or off."""
NOT_OF_THE_EDGE = {"performance.php_workers", "security.magic_links_enabled"}
"""Settings that WordPress is started with, or that the control plane follows itself."""
SOURCE = RecordSource(
    "env_a", "site_a", "production", "a.preview.test", "running", REGION, "cms", "live", "node-1", None
)


def settings() -> Iterator[str]:
    """All that a request can set."""
    for block in msgspec.structs.fields(ConfigurationChange):
        kind = msgspec.inspect.type_info(block.type)
        assert isinstance(kind, msgspec.inspect.StructType)
        yield from (f"{block.name}.{field.name}" for field in kind.fields)


ALL = sorted(settings())


def test_every_setting_names_a_test_that_shows_its_effect() -> None:
    assert sorted(EFFECTS) == ALL
    for setting, test in EFFECTS.items():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(), f"{setting}: {test} does not exist"


@pytest.mark.parametrize("setting", [each for each in ALL if each not in NOT_OF_THE_EDGE])
def test_a_changed_setting_changes_the_record_of_the_environment(setting: str) -> None:
    block, name = setting.split(".")
    partner = {"waf_partner_client_id": "first", "waf_partner_secret_key": "the-first-key-of-the-partner"}
    protection = {"preview_protection": "password", "preview_password": "the first password"}
    before = {"security": {**partner, **protection}}
    default = getattr(getattr(Configuration(), block), name, None)
    value = CHANGED.get(setting, not default if isinstance(default, bool) else None)
    assert value is not None, f"{setting} needs a value in CHANGED"
    after = {**before, block: {**before.get(block, {}), name: value}}
    assert _record(after) != _record(before)


def _record(wanted: dict[str, Any]) -> EdgeRecord | None:
    change = msgspec.convert(wanted, ConfigurationChange)
    effective = resolve(prepare_settings(change, "site_a", Sealer(bytes(32))))
    records = build_records(SOURCE, "node-1", effective, None, secure=frozenset({"a.preview.test"}))
    return records[environment_key(REGION, "env_a")]


async def test_a_new_number_of_workers_reaches_the_node(served_site: ServedSite) -> None:
    driver = served_site.driver
    await driver.execute(
        "update sites set runtime = 'cms', php_version = '8.2' where id = $1", served_site.id
    )
    async with driver.plane.database.transaction() as tx:
        await wordpress.insert(
            tx, served_site.id, title="A", user="admin", email="admin@example.com", password=b""
        )
    job = await served_site.request_job("PATCH", "/config", {"performance": {"php_workers": 9}})
    assert await _workers(served_site, job["id"]) == (9, 4)
    await driver.run_job(job["id"])
    job = await served_site.request_job("PATCH", "/config", {"performance": {"page_cache_ttl": 9}})
    assert await _workers(served_site, job["id"]) == (None, None)
    await driver.run_job(job["id"])
    override = {"performance": {"php_workers": 2}}
    job = await served_site.request_job("PATCH", "/environments/production/config", override)
    assert await _workers(served_site, job["id"]) == (2, 9)


async def _workers(site: ServedSite, job: str) -> tuple[int | None, int | None]:
    """With how many workers the node is told to run, and with how many if the change is undone."""
    row = await site.driver.job_row(job)
    workflow = site.driver._workflow(row)
    step, found = workflow.steps["processes"], []
    async with site.driver.plane.database.reading() as tx:
        for build in (step.command, step.undo_command):
            assert build is not None
            command = await build(tx, workflow.read(row))
            work = command.work if isinstance(command, NodeCommand) else None
            is_told = isinstance(work, EnsureEnvironment) and work.wordpress is not None
            found.append(work.wordpress.workers if is_told else None)  # type: ignore[union-attr]
    return found[0], found[1]
