"""Web vitals: what browsers have measured."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from stead.control.insights.vital_views import ENOUGH_SAMPLES
from tests.control.insights.conftest import Pipeline
from tests.control.insights.recorded import ledger_line, vitals_chunk_of
from tests.control.served_site import ServedSite


async def test_percentiles_are_of_page_views(pipeline: Pipeline, site: ServedSite) -> None:
    slow = [f"LCP={1100 + 20 * number}.0000;CLS=0.0{number % 10}00" for number in range(100)]
    await pipeline.deliver(*vitals_chunk_of(site.env, *slow, path="/slow"))
    await pipeline.deliver(*vitals_chunk_of(site.env, *["LCP=400.0000"] * 100, path="/fast"))
    await pipeline.record(
        ledger_line(site.env, cache="HIT", time=0.04), ledger_line(site.env, cache="MISS", time=0.04)
    )
    found = await site.get("/insights/summary")
    rum = {each["metric"]: each for each in found["rum"]}
    assert list(rum) == ["LCP", "FCP", "CLS", "INP", "TTFB"]
    assert rum["LCP"]["samples"] == 200
    assert rum["LCP"]["p75"] == pytest.approx(2100, rel=0.05)
    assert rum["LCP"]["p99"] == pytest.approx(3060, rel=0.05)
    assert rum["CLS"]["p75"] == pytest.approx(0.07, abs=0.01)
    assert rum["INP"] == {"metric": "INP", "p75": None, "p90": None, "p95": None, "p99": None, "samples": 0}
    assert found["server"] == {"p75_ttfb_ms": 40.0, "p95_ttfb_ms": 40.0, "cache_hit_pct": 50.0, "samples": 2}
    assert found["days"] == 30

    pages = (await site.get("/insights/pages"))["pages"]
    assert [(page["path"], page["samples"], page["rating"]) for page in pages] == [
        ("/fast", 100, "good"),
        ("/slow", 100, "needs_improvement"),
    ]
    limited = await site.get("/insights/pages?limit=1")
    assert limited["truncated"]
    series = await site.get("/insights/timeseries?metric=CLS&days=7")
    assert sum(point["samples"] for point in series["points"]) == 100
    assert series["bucket_seconds"] == 3600


async def test_a_few_page_views_have_no_percentiles(pipeline: Pipeline, site: ServedSite) -> None:
    await pipeline.deliver(*vitals_chunk_of(site.env, *["LCP=400.0000"] * (ENOUGH_SAMPLES - 1)))
    await pipeline.insert_and_check()
    [lcp] = [each for each in (await site.get("/insights/summary"))["rum"] if each["metric"] == "LCP"]
    assert (lcp["p75"], lcp["samples"]) == (None, ENOUGH_SAMPLES - 1)
    [page] = (await site.get("/insights/pages"))["pages"]
    assert (page["p75"], page["rating"]) == (None, "not_enough_data")


async def test_a_window_is_a_number_of_days_or_has_a_beginning(pipeline: Pipeline, site: ServedSite) -> None:
    await site.driver.execute(
        "update environment_placements set since = now() - interval '9 days' where env_id = $1", site.env
    )
    await pipeline.deliver(*vitals_chunk_of(site.env, *["LCP=400.0000"] * 60))
    await pipeline.deliver(*vitals_chunk_of(site.env, *["LCP=900.0000"] * 70, seconds_ago=3 * 86_400))
    await pipeline.insert_and_check()

    async def samples(query: str) -> int:
        return int((await site.get(f"/insights/summary?{query}"))["rum"][0]["samples"])

    now = datetime.fromtimestamp(time.time(), UTC)
    then, between = ((now - timedelta(days=n)).strftime("%Y-%m-%dT%H:%M:%SZ") for n in (5, 2))
    assert await samples("") == 130
    assert await samples("days=1") == 60
    assert await samples(f"from={then}") == 130
    assert await samples(f"from={then}&to={between}") == 70
    assert await samples(f"from={between}&days=30") == 60


@pytest.mark.parametrize(
    "query",
    [
        *("days=0", "days=181", "from=yesterday", "from=2999-01-01T00:00:00Z", "to=0001-01-01T00:00:00Z"),
        *("from=2020-01-01T00:00:00Z", "from=1763300000"),
    ],
)
async def test_a_window_out_of_its_bounds_is_refused(site: ServedSite, query: str) -> None:
    response = await site.person.session.get(f"/v1/sites/{site.id}/insights/summary?{query}")
    assert response.status_code == 400
    assert response.json()["error"]["param"] == query.partition("=")[0]
