"""Configuration: sparse when it is changed, whole when it is read, announced when it counts."""

import msgspec
import pytest

from stead.control.configuration.workflows import CONFIGURE_SITE
from stead.protocol import edge_records
from tests.client import code_of
from tests.control.edge.conftest import REGION, Served

SECRET = "the-partner-knows-this"


async def test_a_change_counts_once_its_job_has_run_and_changes_only_what_it_names(site: Served) -> None:
    before = await site.get("/config")
    job = await site.change("PATCH", "/config", {"security": {"waf_engine_mode": "on"}})
    assert job["type"] == "site.config_apply"
    assert await site.get("/config") == before

    await site.estate.perform(job["id"])

    after = await site.get("/config")
    assert after["security"].pop("waf_engine_mode") == "on"
    assert before["security"].pop("waf_engine_mode") == "detection"
    assert after == before
    assert site.record.waf == "on"
    assert await site.estate.events(site.id) == ["site.config_changed", "job.succeeded"]


async def test_null_goes_back_to_the_default(site: Served) -> None:
    default = await site.get("/config")
    await site.changed("PATCH", "/config", {"performance": {"page_cache_ttl": 60, "php_workers": 9}})
    assert (await site.get("/config"))["performance"]["page_cache_ttl"] == 60
    await site.changed("PATCH", "/config", {"performance": {"page_cache_ttl": None, "php_workers": None}})
    assert await site.get("/config") == default


async def test_an_environment_inherits_what_is_not_set_on_it(site: Served) -> None:
    await site.changed("PATCH", "/config", {"security": {"allowed_ips": ["10.1.2.3/8"]}})
    await site.changed("PATCH", "/environments/production/config", {"security": {"waf_engine_mode": "off"}})

    found = await site.get("/environments/production/config")
    assert found["override"] == {"security": {"waf_engine_mode": "off"}}
    assert found["inherited"]["security"]["waf_engine_mode"] == "detection"
    assert found["effective"]["security"]["waf_engine_mode"] == "off"
    assert found["effective"]["security"]["allowed_ips"] == ["10.0.0.0/8"]
    assert (site.record.waf, site.record.allowed_ips) == ("off", ("10.0.0.0/8",))

    await site.changed("PATCH", f"/environments/{site.env}/config", {"security": {"waf_engine_mode": None}})
    found = await site.get("/environments/production/config")
    assert (found["override"], found["effective"]) == ({}, found["inherited"])


async def test_a_change_that_failed_leaves_everything_as_it_was(site: Served) -> None:
    await site.changed("PATCH", "/config", {"security": {"waf_engine_mode": "on"}})
    before, told = await site.get("/config"), site.record
    job = (await site.change("PATCH", "/config", {"security": {"waf_engine_mode": "off"}}))["id"]
    row = await site.estate._row(job)
    for _ in range(2):
        await site.estate._announce(row, CONFIGURE_SITE.steps["apply"].announce)
    assert site.record.waf == "off"

    await site.estate.undo(job)

    assert (await site.get("/config"), site.record) == (before, told)


async def test_the_partners_key_is_written_and_never_read_back(site: Served) -> None:
    await site.changed("PATCH", "/config", {"security": {"waf_partner_secret_key": SECRET}})
    await site.changed(
        "PATCH", "/environments/production/config", {"security": {"waf_partner_secret_key": SECRET}}
    )
    shown = await site.get("/config"), await site.get("/environments/production/config")
    assert shown[0]["security"]["waf_partner_secret_key_set"] is True
    assert shown[1]["override"]["security"] == {"waf_partner_secret_key_set": True}
    assert SECRET not in str(shown)
    for table in ("configurations", "jobs", "audit_events", "events"):
        assert not await site.estate.value(
            f"select exists (select from {table} t where t::text like '%' || $1 || '%')",
            SECRET,
        )


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"security": {"allowed_ips": ["10.0.0.1", "10.0.0.0/33"]}}, "security.allowed_ips.1"),
        ({"security": {"allowed_ips": ["example.com"]}}, "security.allowed_ips.0"),
        ({"security": {"waf_engine_mode": "maybe"}}, "security.waf_engine_mode"),
        ({"performance": {"page_cache_ttl": 2_592_001}}, "performance.page_cache_ttl"),
        ({"performance": {"php_workers": 0}}, "performance.php_workers"),
        ({"observability": {"trace_sample_rate": 1.01}}, "observability.trace_sample_rate"),
        ({"performance": {"unknown": 1}}, "performance.unknown"),
    ],
)
async def test_what_is_out_of_bounds_is_refused_by_the_name_of_its_field(
    site: Served, body: object, param: str
) -> None:
    refused = await site.person.session.patch(f"/v1/sites/{site.id}/config", json=body)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param), refused.text


async def test_a_site_that_is_going_away_cannot_be_configured(site: Served) -> None:
    await site.estate.become(site.id, "deleting")
    refused = await site.person.session.patch(f"/v1/sites/{site.id}/config", json={})
    assert code_of(refused) == "site.busy"


async def test_redirects_are_replaced_as_a_whole_and_told_in_parts(site: Served) -> None:
    many = [{"from": f"/old/{n}", "to": f"/new/{n}", "code": 301} for n in range(1200)]
    some = [{"from": "/a/*", "to": "/b/*", "code": 308}]
    keys = [edge_records.redirects_key(REGION, site.id, part) for part in range(3)]

    await site.changed("PUT", "/redirects", {"redirects": many})
    assert (await site.get("/redirects"))["redirects"] == many
    told = [site.estate.announced[key] for key in keys]
    assert sum(len(part.rules) for part in told if isinstance(part, edge_records.RedirectsRecord)) == 1200

    await site.changed("PUT", "/redirects", {"redirects": some})
    assert [site.estate.announced[key] is None for key in keys] == [False, True, True]
    assert site.record.redirects is not None
    assert site.record.redirects.lengths == (3,)

    await site.changed("PUT", "/redirects", {"redirects": []})
    assert (await site.get("/redirects"))["redirects"] == []
    assert site.record.redirects is None
    assert [site.estate.announced[key] for key in keys] == [None, None, None]


@pytest.mark.parametrize(
    ("body", "purge"),
    [
        (None, {}),
        ({}, {}),
        ({"type": "url", "url": "/news?b=1&a=2"}, {"url": "/news?b=1&a=2"}),
        ({"type": "url", "url": "https://example.com"}, {"url": "/"}),
        ({"type": "tag", "tag": "post-7"}, {"tag": "post-7"}),
    ],
)
async def test_a_purge_is_one_record(site: Served, body: object, purge: dict[str, str]) -> None:
    await site.changed("POST", "/environments/production/cache/purge", body)
    wanted = edge_records.PurgeRecord(site.env, **purge)
    assert site.estate.announced == {edge_records.purge_key(REGION, wanted): wanted}


@pytest.mark.parametrize(
    ("body", "param"),
    [({"type": "url"}, "url"), ({"type": "tag", "url": "/a"}, None), ({"tag": "a"}, "tag")],
)
async def test_a_purge_that_says_two_things_is_refused(site: Served, body: object, param: str | None) -> None:
    where = f"/v1/sites/{site.id}/environments/production/cache/purge"
    refused = await site.person.session.post(where, json=body)
    assert refused.status_code == 400, refused.text
    assert param is None or refused.json()["error"]["param"] == param


async def test_a_test_site_is_unknown_to_the_edges(site: Served) -> None:
    await site.estate.run("update sites set mode = 'test' where id = $1", site.id)
    await site.changed("PATCH", "/config", {"security": {"waf_engine_mode": "on"}})
    assert site.estate.announced == {}


def test_a_record_is_small() -> None:
    record = edge_records.EnvironmentRecord("site_01k9zy3v7d00r3m8w5x2t6b4qa", "node-1")
    assert len(msgspec.json.encode(record)) < 120
