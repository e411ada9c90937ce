"""The use of a machine over time."""

import time

import pytest

from stead.node.telemetry.spool import NewRows
from tests.control.insights.conftest import Pipeline
from tests.control.insights.recorded import chunk_with, ledger_line
from tests.control.served_site import ServedSite


async def test_use_and_answers_are_shown_over_time(pipeline: Pipeline, site: ServedSite) -> None:
    rows, now = NewRows("resources"), time.time()
    for ago, cpu_ms, elapsed_ms, memory in (
        (90, 0, 0, 1_000),
        (60, 15_000, 30_000, 3_000),
        (30, 0, 30_000, 2_000),
    ):
        moment = now - ago
        rows.add(site.env, moment, f"{moment:.3f}\tphp\t{cpu_ms}\t{elapsed_ms}\t{memory}\t0\n".encode())
    content = rows.compress()
    await pipeline.deliver(chunk_with(content, rows), content)
    await pipeline.record(ledger_line(site.env, status=500, time=0.04), ledger_line(site.env, time=0.04))
    found = await site.get("/insights/resources?hours=360")
    ((container,),) = ([each for each in found["containers"] if each["container"] == "php"],)
    assert max(point["memory_bytes"] for point in container["points"]) == 3_000
    assert {point["memory_limit_bytes"] for point in container["points"]} == {None}
    assert 0 < max(point["cpu_pct"] for point in container["points"]) <= 50
    assert sum(point["requests"] for point in found["app"]) == 2
    assert sum(point["errors"] for point in found["app"]) == 1
    assert {point["first_byte_p75_ms"] for point in found["app"]} == {40.0}


@pytest.mark.parametrize("part", [0.1236, 0.9996])
async def test_a_sample_between_two_milliseconds_is_kept(
    pipeline: Pipeline, site: ServedSite, part: float
) -> None:
    """The time of a row is rounded, also when it is the newest of its chunk."""
    rows, moment = NewRows("resources"), int(time.time()) - 60 + part
    rows.add(site.env, moment, f"{moment:.3f}\tphp\t0\t0\t1000\t0\n".encode())
    content = rows.compress()
    await pipeline.deliver(chunk_with(content, rows), content)
    await pipeline.insert_and_check()
    [container] = (await site.get("/insights/resources"))["containers"]
    assert [point["memory_bytes"] for point in container["points"]] == [1000]


async def test_a_window_of_resources_is_at_most_15_days(site: ServedSite) -> None:
    response = await site.person.session.get(f"/v1/sites/{site.id}/insights/resources?hours=361")
    assert response.status_code == 400
