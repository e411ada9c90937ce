"""Traces: the parts of a request."""

from tests.control.insights.conftest import Pipeline
from tests.control.insights.recorded import TRACE, ledger_line, span_chunk_of
from tests.control.served_site import ServedSite

OTHER = "00000000000000000000000000000001"


async def test_spans_are_filtered_and_shown_as_one_trace(pipeline: Pipeline, site: ServedSite) -> None:
    lines = [
        ledger_line(site.env, path="/slow", time=2.5),
        ledger_line(site.env, path="/failed", status=502, time=0.1, trace=OTHER),
    ]
    await pipeline.deliver(*span_chunk_of(site.env, *lines))
    await pipeline.insert_and_check()

    async def names(query: str) -> set[str]:
        return {span["name"] for span in (await site.get(f"/insights/traces?{query}"))["spans"]}

    assert await names("") == {"GET /slow", "GET /failed"}
    assert await names("status=error") == {"GET /failed"}
    assert await names("min_duration_ms=1000") == {"GET /slow"}
    assert await names("service=edge") == {"GET /slow", "GET /failed"}
    assert await names("service=php") == set()
    assert (await site.get("/insights/traces?limit=1"))["truncated"]

    trace = await site.get(f"/insights/traces/{TRACE}")
    [span] = trace["spans"]
    assert (trace["trace_id"], trace["duration_ms"]) == (TRACE, 2500.0)
    assert (span["service"], span["status"], span["status_code"]) == ("edge", "ok", 200)
    assert (await site.get(f"/insights/traces/{'a' * 32}"))["spans"] == []
    recent = (await site.person.session.get("/v1/traces")).json()["data"]
    assert {span["site_id"] for span in recent["spans"]} == {site.id}
