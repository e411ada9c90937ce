"""The views of requests: what they show, how they are filtered, and to whom."""

import time

import pytest
from msgspec.structs import replace

from stead.control.app import ControlPlane
from stead.control.engines.clickhouse import Statement
from stead.control.insights.buckets import MAX_BUCKETS, bucket_seconds
from stead.control.settings import Settings
from stead.shared.clock import MovableClock
from stead.shared.ids import new_id
from tests.control.insights.conftest import Pipeline
from tests.control.insights.recorded import FIREFOX, TRACE, ledger_line
from tests.control.served_site import ServedSite


async def paths(site: ServedSite, query: str = "") -> list[str]:
    found = await site.get(f"/insights/requests?{query}")
    return [row["path"] for row in found["requests"]]


async def test_rows_that_are_due_are_not_shown_and_each_week_is_removed_by_itself(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane
) -> None:
    async with plane.database.transaction() as tx:
        await tx.run("update accounts set plan = 'free' where id = $1", site.person.id)
        await tx.run(
            "update environment_placements set since = now() - interval '9 days' where env_id = $1", site.env
        )
    # The last two are in one file, which stays until both are due, unless a week began between them.
    day, hour = 86_400, 3_600
    ages = (60, 2 * day, 7 * day - 2 * hour, 7 * day + 2 * hour)
    await pipeline.record(*(ledger_line(site.env, ts=round(time.time() - age, 3)) for age in ages))
    shown = await site.get("/insights/requests?hours=4320")
    volume = await site.get("/insights/requests/volume?hours=4320")
    assert (len(shown["requests"]), volume["requests"]) == (3, 3)
    partitions = Statement(
        "select count(distinct _partition_id) from requests where site_id = {site:String}",
        {"site": site.id},
        {},
    )
    assert await plane.clickhouse.read(list[int], partitions) in ([[2]], [[3]])


async def test_a_request_is_shown_without_personal_data(pipeline: Pipeline, site: ServedSite) -> None:
    moment = round(time.time() - 100, 3)
    line = ledger_line(
        site.env,
        ts=moment,
        path="/news",
        method="POST",
        time=0.25,
        first_byte="0.2",
        cache="MISS",
        waf="942100",
    )
    await pipeline.record(line)
    (row,) = (await site.get("/insights/requests"))["requests"]
    assert row.pop("ts").startswith(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)))
    assert row == {
        "host": "www.example.com",
        "method": "POST",
        "path": "/news",
        "status": 200,
        "duration_ms": 250,
        "first_byte_ms": 200,
        "bytes_in": 100,
        "bytes_out": 1000,
        "cache": "MISS",
        "firewall": "942100",
        "network": "192.0.2.0",
        "tls": "TLSv1.3",
        "agent": "Firefox",
        "device": "desktop",
        "trace_id": TRACE,
        "release": None,
        "reason": None,
        "function_version_id": None,
        "cpu_ms": None,
        "memory_bytes": None,
    }
    assert FIREFOX not in str(row)


async def test_requests_are_filtered_and_come_newest_first(pipeline: Pipeline, site: ServedSite) -> None:
    await site.driver.execute(
        "update environment_placements set since = now() - interval '3 days' where env_id = $1", site.env
    )
    now = time.time()
    lines = [
        ledger_line(
            site.env, ts=round(now - 100 - number, 3), path=path, method=method, status=status, agent=agent
        )
        for number, (path, method, status, agent) in enumerate(
            [
                ("/a", "GET", 200, FIREFOX),
                ("/b", "POST", 404, FIREFOX),
                ("/Blog/%E2", "GET", 500, "curl/8.0"),
                ("/c'x", "GET", 503, FIREFOX),
            ]
        )
    ]
    await pipeline.record(*lines, ledger_line(site.env, ts=round(now - 30 * 3600, 3), path="/yesterday"))
    assert await paths(site) == ["/a", "/b", "/Blog/%E2", "/c'x"]
    assert await paths(site, "hours=48") == ["/a", "/b", "/Blog/%E2", "/c'x", "/yesterday"]
    assert await paths(site, "method=post") == ["/b"]
    assert await paths(site, "status=404") == ["/b"]
    assert await paths(site, "status=5xx") == ["/Blog/%E2", "/c'x"]
    assert await paths(site, "status=5xx&bots=exclude") == ["/c'x"]
    assert await paths(site, "q=bLOG") == ["/Blog/%E2"]
    assert await paths(site, "q=%25") == ["/Blog/%E2"]
    assert await paths(site, "q='") == ["/c'x"]
    assert await paths(site, "limit=2") == ["/a", "/b"]
    assert [(await site.get(f"/insights/requests?limit={n}"))["truncated"] for n in (3, 4)] == [True, False]
    volume = await site.get("/insights/requests/volume?hours=48")
    assert (volume["requests"], volume["errors"]) == (5, 2)
    assert sum(bucket["client_errors"] for bucket in volume["buckets"]) == 1
    without = await site.get("/insights/requests/volume?hours=48&bots=exclude")
    assert (without["requests"], without["errors"]) == (4, 1)


@pytest.mark.parametrize(
    "query",
    [
        *("hours=0", "hours=4321", "hours=-1", "hours=x", "limit=0", "limit=2001", "status=600", "status=5x"),
        *("status=abc", "method=G%20T", "method=" + "A" * 21, "q=", "q=" + "x" * 201, "bots=maybe"),
    ],
)
async def test_a_parameter_out_of_its_bounds_is_refused(site: ServedSite, query: str) -> None:
    response = await site.person.session.get(f"/v1/sites/{site.id}/insights/requests?{query}")
    assert response.status_code == 400
    assert response.json()["error"]["param"] == query.partition("=")[0]


@pytest.mark.parametrize("hours", [1, 6, 24, 168, 720, 4320])
async def test_a_window_of_any_length_has_a_bounded_number_of_buckets(site: ServedSite, hours: int) -> None:
    volume = await site.get(f"/insights/requests/volume?hours={hours}")
    assert 10 <= len(volume["buckets"]) <= MAX_BUCKETS + 1
    assert volume["bucket_seconds"] == bucket_seconds(hours)


async def test_a_site_shows_its_production_environment_and_environments_their_own(
    pipeline: Pipeline, site: ServedSite
) -> None:
    staging = new_id("env")
    await site.driver.execute(
        "insert into environments (id, site_id, type, subdomain, status, node_id, created_at)"
        " values ($1, $2, 'staging', $1, 'running', 'node-1', now())",
        *(staging, site.id),
    )
    await pipeline.record(ledger_line(site.env, path="/live"), ledger_line(staging, path="/staging"))
    assert await paths(site) == ["/live"]
    for env, path in ((site.env, "/live"), ("production", "/live"), (staging, "/staging")):
        found = await site.get(f"/environments/{env}/insights/requests")
        assert [row["path"] for row in found["requests"]] == [path]
        assert (await site.get(f"/environments/{env}/insights/requests/volume"))["requests"] == 1


async def test_insights_answer_503_without_clickhouse_and_everything_else_works(
    site: ServedSite, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plane.clickhouse, "_address", "http://127.0.0.1:1/")
    response = await site.person.session.get(f"/v1/sites/{site.id}/insights/requests")
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "insights.unavailable"
    assert await site.get("") is not None


async def test_an_installation_without_clickhouse_answers_503(
    settings: Settings, clock: MovableClock
) -> None:
    plane = ControlPlane(replace(settings, clickhouse_url=""), clock=clock)
    assert not plane.clickhouse.is_configured
