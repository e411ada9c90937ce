"""Every declared metric is served by a running program, and none of them names a customer's things."""

import re

import httpx
import pytest

from stead.control.edge_feed.feed import EdgeFeed
from stead.dev.engines.nginx import Nginx
from stead.dev.local_node import LOCAL_NODE, LOCAL_REGION
from stead.dev.programs import NodeAgent, Worker
from stead.dev.running_stack import RunningStack
from stead.protocol.edge_records import HostRecord, host_key
from stead.shared.ids import new_id
from tests.journeys.customer import Customer
from tests.monitoring.declarations import PROGRAMS, read_samples, series_names
from tests.node.feed.feed_harness import worker_connection
from tests.node.harness import until

IDENTIFIER = re.compile(r"^[a-z]+_[0-9a-z]{26}$")
Samples = dict[str, list[tuple[dict[str, str], float]]]


async def serve_a_site(customer: Customer) -> str:
    """Cause every metric to have a value."""
    domain = f"{new_id('d').removeprefix('d_')}.example.com"
    await customer.does("POST", "/v1/sites", {"domain": domain, "profile": "static"})
    return domain


async def scrape(stack: RunningStack, program: str) -> Samples:
    ports = {
        "api": stack.ports["api_metrics"],
        "worker": stack[Worker].port,
        "repositories": stack.ports["repositories_metrics"],
        "node": stack[NodeAgent].port,
    }
    async with httpx.AsyncClient(timeout=30) as client:
        answer = await client.get(f"http://127.0.0.1:{ports[program]}/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    return read_samples(answer.text)


@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_running_program_serves_every_metric_that_it_declares(
    stack: RunningStack, customer: Customer, program: str
) -> None:
    domain = await serve_a_site(customer)
    missing: set[str] = set()

    async def all_served() -> Samples | None:
        samples = await scrape(stack, program)
        declared = {name for metric in PROGRAMS[program].declared for name in series_names(metric)}
        missing.clear()
        missing.update(declared - samples.keys())
        return None if missing else samples

    try:
        # Values from the database are read every ten seconds.
        samples = await until(all_served, bound=60)
    except AssertionError:
        raise AssertionError(f"{program} does not serve {sorted(missing)}") from None
    declared = {name for metric in PROGRAMS[program].declared for name in series_names(metric)}
    assert {name for name in samples if name.startswith("stead_")} - declared <= {
        f"{metric.name.removesuffix('_total')}_created"
        for metric in PROGRAMS[program].declared
        if metric.type == "counter"
    } | {f"{metric.name}_created" for metric in PROGRAMS[program].declared if metric.type == "histogram"}
    values = {value for found in samples.values() for labels, _ in found for value in labels.values()}
    assert not [value for value in values if IDENTIFIER.match(value) or "@" in value or domain in value]


async def test_the_values_describe_what_has_happened(stack: RunningStack, customer: Customer) -> None:
    before = await scrape(stack, "worker")
    await serve_a_site(customer)
    after = await scrape(stack, "worker")

    def ended(samples: Samples) -> float:
        return sum(value for labels, value in samples["stead_jobs_ended_total"] if labels["code"] == "done")

    assert ended(after) == ended(before) + 1
    node = await scrape(stack, "node")
    assert node["stead_edge_up"] == [({}, 1.0)]
    assert dict(node)["stead_node_disk_free_bytes"][0][1] > 0
    sizes = {labels["memory"]: value for labels, value in node["stead_edge_memory_size_bytes"]}
    free = {labels["memory"]: value for labels, value in node["stead_edge_memory_free_bytes"]}
    assert sizes.keys() == free.keys() >= {"records", "redirects", "purges", "certificates"}
    assert all(0 <= free[memory] <= sizes[memory] for memory in sizes)


async def test_an_edge_that_is_down_and_behind_is_shown_until_it_has_caught_up(stack: RunningStack) -> None:
    key = host_key(LOCAL_REGION, "behind.example.com")

    async def shows(*, behind: bool) -> bool | None:
        lags = {
            labels["node"]: value
            for labels, value in (await scrape(stack, "worker"))["stead_edge_feed_lag_seconds"]
        }
        up = (await scrape(stack, "node"))["stead_edge_up"][0][1]
        return ((lags[LOCAL_NODE] > 0) == behind and (up == 0) == behind) or None

    await until(lambda: shows(behind=False), bound=60)
    async with worker_connection(stack) as connection:
        await stack.stop(Nginx)
        try:
            await EdgeFeed(connection).put({key: HostRecord("env_1")})
            await until(lambda: shows(behind=True), bound=60)
        finally:
            await stack.start(Nginx)
        await EdgeFeed(connection).put({key: None})
    await until(lambda: shows(behind=False), bound=60)
