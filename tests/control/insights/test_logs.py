"""The views of logs: what they show, and how they are filtered and searched."""

import pytest

from tests.control.insights.conftest import Pipeline
from tests.control.insights.recorded import ledger_line, stamp
from tests.control.served_site import ServedSite


async def bodies(site: ServedSite, query: str = "") -> list[str]:
    return [line["body"] for line in (await site.get(f"/insights/logs?{query}"))["lines"]]


async def test_log_lines_are_filtered_searched_and_counted(pipeline: Pipeline, site: ServedSite) -> None:
    await pipeline.log(
        site.env,
        f"{stamp(100)} PHP Fatal error:  Uncaught Error: checkout-session 42 failed\n"
        f"{stamp(90)} PHP Warning:  timeout while connecting to 192.0.2.77\n"
        f"{stamp(80)} NOTICE: ready to handle connections\n"
        f"{stamp(70)} plain message of für Ädam@example.com\n",
    )
    every = await bodies(site)
    assert every == [
        "plain message of für Ä[mail]",
        "ready to handle connections",
        "PHP Warning:  timeout while connecting to 192.0.2.0",
        "PHP Fatal error:  Uncaught Error: checkout-session 42 failed",
    ]
    assert await bodies(site, "severity=ERROR") == every[3:]
    assert await bodies(site, "severity=WARN") == every[2:3]
    assert await bodies(site, "q=TIMEOUT+connecting") == every[2:3]
    assert await bodies(site, "q=checkout") == every[3:]
    assert await bodies(site, "q=check") == []
    assert await bodies(site, "q=%22heckout-sess%22") == every[3:]
    assert await bodies(site, "q=f%C3%BCr") == every[:1]
    assert await bodies(site, "container=php") == every
    assert await bodies(site, "container=other") == []
    assert await bodies(site, "trace_id=" + "a" * 32) == []
    assert await bodies(site, "limit=1") == every[:1]
    assert (await site.get("/insights/logs?limit=1"))["truncated"]
    line = (await site.get("/insights/logs?severity=ERROR"))["lines"][0]
    assert (line["site_id"], line["severity_text"], line["service_name"]) == (site.id, "ERROR", "php")
    volume = await site.get("/insights/logs/volume")
    assert volume["lines"] == 4
    assert sum(bucket["severities"].get("INFO", 0) for bucket in volume["buckets"]) == 2
    assert (await site.get("/insights/logs/volume?severity=WARN"))["lines"] == 1


@pytest.mark.parametrize(
    "query", ["hours=721", "hours=0", "limit=5001", "severity=error", "container=a/b", "trace_id=xyz", "q="]
)
async def test_a_parameter_out_of_its_bounds_is_refused(site: ServedSite, query: str) -> None:
    response = await site.person.session.get(f"/v1/sites/{site.id}/insights/logs?{query}")
    assert response.status_code == 400
    assert response.json()["error"]["param"] == query.partition("=")[0]


async def test_the_lines_and_metrics_of_all_sites_are_shown_together(
    pipeline: Pipeline, site: ServedSite
) -> None:
    await pipeline.log(site.env, f"{stamp()} first\n")
    response = await site.person.session.get("/v1/logs")
    assert [line["site_id"] for line in response.json()["data"]["lines"]] == [site.id]
    for name in ("requests", "cache_hit_pct", "first_byte_p75_ms", "first_byte_p95_ms"):
        response = await site.person.session.get(f"/v1/metrics?name={name}")
        assert response.status_code == 200
        assert response.json()["data"]["points"] == []
    await pipeline.record(ledger_line(site.env, cache="", first_byte="", time=900.0, bytes_out=10**9))
    values = {}
    for name in ("requests", "cache_hit_pct", "first_byte_p95_ms"):
        response = await site.person.session.get(f"/v1/metrics?name={name}")
        [point] = response.json()["data"]["points"]
        values[name] = point["value"]
    # What was not measured is not 0.
    assert values == {"requests": 1.0, "cache_hit_pct": None, "first_byte_p95_ms": None}
    for query in ("", "?name=cpu", "?name="):
        assert (await site.person.session.get(f"/v1/metrics{query}")).status_code == 400
