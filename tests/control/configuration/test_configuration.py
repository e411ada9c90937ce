"""Configuration through the API: sparse changes, complete responses, announced to the edges."""

from typing import Any

import msgspec
import pytest

from stead.control.configuration.workflows import CONFIGURE_SITE
from stead.protocol import edge_records
from tests.client import code_of
from tests.control.served_site import ServedSite

SECRET = "the-partner-knows-this"


async def test_a_change_applies_when_its_job_has_run_and_changes_only_its_fields(
    served_site: ServedSite,
) -> None:
    before = await served_site.get("/config")
    job = await served_site.request_job("PATCH", "/config", {"security": {"waf_engine_mode": "on"}})
    assert job["type"] == "site.config_apply"
    assert await served_site.get("/config") == before

    await served_site.driver.run_job(job["id"])

    after = await served_site.get("/config")
    assert after["security"].pop("waf_engine_mode") == "on"
    assert before["security"].pop("waf_engine_mode") == "detection"
    assert after == before
    assert served_site.record.waf == "on"
    assert await served_site.driver.event_types(served_site.id) == ["site.config_changed", "job.succeeded"]


async def test_null_restores_the_default(served_site: ServedSite) -> None:
    default = await served_site.get("/config")
    await served_site.complete("PATCH", "/config", {"performance": {"page_cache_ttl": 60, "php_workers": 9}})
    assert (await served_site.get("/config"))["performance"]["page_cache_ttl"] == 60
    await served_site.complete(
        "PATCH", "/config", {"performance": {"page_cache_ttl": None, "php_workers": None}}
    )
    assert await served_site.get("/config") == default


async def test_an_environment_inherits_settings_that_it_does_not_override(served_site: ServedSite) -> None:
    await served_site.complete("PATCH", "/config", {"security": {"allowed_ips": ["10.1.2.3/8"]}})
    await served_site.complete(
        "PATCH", "/environments/production/config", {"security": {"waf_engine_mode": "off"}}
    )

    found = await served_site.get("/environments/production/config")
    assert found["override"] == {"security": {"waf_engine_mode": "off"}}
    assert found["inherited"]["security"]["waf_engine_mode"] == "detection"
    assert found["effective"]["security"]["waf_engine_mode"] == "off"
    assert found["effective"]["security"]["allowed_ips"] == ["10.0.0.0/8"]
    assert (served_site.record.waf, served_site.record.allowed_ips) == ("off", ("10.0.0.0/8",))

    await served_site.complete(
        "PATCH", f"/environments/{served_site.env}/config", {"security": {"waf_engine_mode": None}}
    )
    found = await served_site.get("/environments/production/config")
    assert (found["override"], found["effective"]) == ({}, found["inherited"])


async def test_headers_by_path_are_announced_as_the_edges_look_them_up(served_site: ServedSite) -> None:
    headers = [{"for": "/fonts/*", "values": {"Access-Control-Allow-Origin": "*", "X-Old": None}}]
    await served_site.complete("PATCH", "/config", {"serving": {"headers": headers}})
    assert (await served_site.get("/config"))["serving"] == {"headers": headers}
    announced = served_site.record.headers
    assert announced is not None
    assert [dict(rule) for rule in announced["rules"]] == [
        {"Access-Control-Allow-Origin": "*", "X-Old": False}
    ]
    assert announced["tree"] == {"l": {"fonts": {"s": [1]}}}
    own = [{"for": "/", "values": {"X-Frame-Options": "DENY"}}]
    await served_site.complete("PATCH", "/environments/production/config", {"serving": {"headers": own}})
    found = await served_site.get("/environments/production/config")
    assert found["override"]["serving"] == found["effective"]["serving"] == {"headers": own}
    for path in ("/environments/production/config", "/config"):
        await served_site.complete("PATCH", path, {"serving": {"headers": None}})
    assert served_site.record.headers is None


async def test_a_failed_change_leaves_everything_unchanged(served_site: ServedSite) -> None:
    await served_site.complete("PATCH", "/config", {"security": {"waf_engine_mode": "on"}})
    before, record = await served_site.get("/config"), served_site.record
    job = (await served_site.request_job("PATCH", "/config", {"security": {"waf_engine_mode": "off"}}))["id"]
    row = await served_site.driver.job_row(job)
    for _ in range(2):
        await served_site.driver.announce(row, CONFIGURE_SITE.steps["apply"].announce)
    assert served_site.record.waf == "off"

    await served_site.driver.undo_job(job)

    assert (await served_site.get("/config"), served_site.record) == (before, record)


async def test_the_partner_key_can_be_written_but_is_never_returned(served_site: ServedSite) -> None:
    await served_site.complete("PATCH", "/config", {"security": {"waf_partner_secret_key": SECRET}})
    await served_site.complete(
        "PATCH", "/environments/production/config", {"security": {"waf_partner_secret_key": SECRET}}
    )
    shown = await served_site.get("/config"), await served_site.get("/environments/production/config")
    assert shown[0]["security"]["waf_partner_secret_key_set"] is True
    assert shown[1]["override"]["security"] == {"waf_partner_secret_key_set": True}
    assert SECRET not in str(shown)
    for table in ("configurations", "jobs", "audit_events", "events"):
        assert not await served_site.driver.fetch_value(
            f"select exists (select from {table} t where t::text like '%' || $1 || '%')",
            SECRET,
        )


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"security": {"allowed_ips": ["10.0.0.1", "10.0.0.0/33"]}}, "security.allowed_ips.1"),
        ({"security": {"allowed_ips": ["example.com"]}}, "security.allowed_ips.0"),
        (
            {
                "security": {
                    "allowed_ips": [f"2001:db8:1111:2222:3333:4444:5555:{n:x}" for n in range(1, 1000)]
                }
            },
            "security.allowed_ips",
        ),
        ({"security": {"waf_engine_mode": "maybe"}}, "security.waf_engine_mode"),
        ({"performance": {"page_cache_ttl": 2_592_001}}, "performance.page_cache_ttl"),
        ({"performance": {"php_workers": 0}}, "performance.php_workers"),
        ({"observability": {"trace_sample_rate": 1.01}}, "observability.trace_sample_rate"),
        ({"performance": {"unknown": 1}}, "performance.unknown"),
        ({"serving": {"headers": [{"for": "/", "values": {"Set-Cookie": "a"}}]}}, "serving.headers.0"),
        ({"serving": {"headers": [{"for": "a*", "values": {"X-A": "a"}}]}}, "serving.headers.0"),
        ({"serving": {"headers": [{"for": "/", "values": {"X-A": "a\n"}}]}}, "serving.headers.0"),
        (
            {"serving": {"headers": [{"for": f"/{n}", "values": {"X-A": "a" * 400}} for n in range(30)]}},
            "serving.headers",
        ),
    ],
)
async def test_a_value_out_of_bounds_is_refused_naming_the_field(
    served_site: ServedSite, body: object, param: str
) -> None:
    refused = await served_site.person.session.patch(f"/v1/sites/{served_site.id}/config", json=body)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param), refused.text


async def test_a_site_that_is_being_deleted_cannot_be_configured(served_site: ServedSite) -> None:
    await served_site.driver.set_status(served_site.id, "deleting")
    refused = await served_site.person.session.patch(f"/v1/sites/{served_site.id}/config", json={})
    assert code_of(refused) == "site.busy"


async def test_a_test_site_is_not_announced_to_the_edges(served_site: ServedSite) -> None:
    await served_site.driver.execute("update sites set mode = 'test' where id = $1", served_site.id)
    await served_site.complete("PATCH", "/config", {"security": {"waf_engine_mode": "on"}})
    assert served_site.driver.announced == {}


def test_a_record_is_small() -> None:
    record = edge_records.EnvironmentRecord("site_01k9zy3v7d00r3m8w5x2t6b4qa", "node-1")
    assert len(msgspec.json.encode(record)) < 120


@pytest.mark.parametrize("body", [{}, {"security": {}}, {"security": {}, "performance": {}}])
@pytest.mark.parametrize("path", ["/config", "/environments/production/config"])
async def test_a_change_that_names_no_setting_changes_nothing_and_says_so(
    served_site: ServedSite, body: dict[str, Any], path: str
) -> None:
    before = await served_site.get(path)
    answer = await served_site.person.session.patch(f"/v1/sites/{served_site.id}{path}", json=body)
    assert (answer.status_code, answer.json()["data"]["changed"]) == (200, False)
    assert answer.json()["data"]["message"] == "The request names no setting. Nothing was changed."
    assert await served_site.get(path) == before
    jobs = await served_site.person.session.get("/v1/jobs", params={"site_id": served_site.id})
    assert not [job for job in jobs.json()["data"] if job["type"].endswith("config_apply")]
