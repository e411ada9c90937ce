"""Jobs that write as much output as they can: the output stays bounded, and nothing else waits for it."""

import asyncio
import time

from nats.js.api import DiscardPolicy

from stead.dev.engines.nats import Nats
from stead.dev.local_node import LOCAL_NODE
from stead.node.nats_connection import NatsConnection
from stead.node.output import JobOutput, RateLimit
from stead.node.output_budget import MAX_BYTES, RESERVE_BYTES
from stead.node.settings import from_environment
from stead.protocol import subjects
from stead.protocol.streams import stream_specs
from stead.protocol.subjects import OUTPUT, Node, Program
from stead.shared.ids import new_id
from tests.abuse.tenants import new_neighbour
from tests.delivery.delivery import Delivery
from tests.node.harness import connected

LOUD_JOBS = 3
SLOWER = 10.0
"""Generous, because of other load on the machine."""
LINE = b"x" * 4095 + b"\n"


async def _flood(link: NatsConnection, job: str) -> None:
    """Write twice as much as a job may, as fast as NATS takes it."""
    async with JobOutput(link, Node(LOCAL_NODE), job, rate=RateLimit(1e9, 1e9)) as output:
        for _ in range(2 * MAX_BYTES // len(LINE)):
            await output.chunk("stdout", LINE)


async def test_a_neighbour_deploys_while_loud_jobs_fill_the_output_stream(delivery: Delivery) -> None:
    stack, neighbour = delivery.harness.stack, await new_neighbour(delivery)
    usual_visit, usual_deploy = await neighbour.visit(), await neighbour.deploy("before the noise")
    settings = from_environment(stack.node_environment(LOCAL_NODE, delivery.harness.node.data))
    link, jobs = NatsConnection(settings), [new_id("job") for _ in range(LOUD_JOBS)]
    async with connected(stack, Program.OPERATOR) as operator, link.keep_open():
        jetstream = operator.jetstream()
        reserved = {spec.name: spec.max_bytes for spec in stream_specs()}
        for name, count in reserved.items():
            assert (await jetstream.stream_info(name)).config.max_bytes == count
        # Small enough to be full at once.
        limit = 2 * MAX_BYTES
        config = (await jetstream.stream_info(OUTPUT)).config
        assert config.discard == DiscardPolicy.OLD
        await jetstream.update_stream(config.evolve(max_bytes=limit))
        flood = asyncio.gather(*(_flood(link, job) for job in jobs))
        visits: list[float] = []
        deploys: list[float] = []
        began = time.monotonic()
        while not flood.done() or len(deploys) < 2:
            visits.append(await neighbour.visit(50))
            deploys.append(await neighbour.deploy(f"page {len(deploys)} beside the noise"))
        await flood
        seconds = time.monotonic() - began
        stored = (await jetstream.stream_info(OUTPUT)).state.bytes
        each = await jetstream.stream_info(OUTPUT, subjects_filter=subjects.output_of(jobs[-1]))
        await jetstream.update_stream(config)
    assert stored <= limit
    lines = sum((each.state.subjects or {}).values())
    assert lines * len(LINE) <= MAX_BYTES + RESERVE_BYTES
    print(  # noqa: T201
        f"\n{LOUD_JOBS} jobs wrote {2 * MAX_BYTES >> 20} MiB each in {seconds:.0f} s; {stored >> 20} MiB are"
        f" stored; a neighbour's visits: p99 ratio {max(visits) / usual_visit:.1f}; its deployments: ratio"
        f" {max(deploys) / usual_deploy:.1f}"
    )
    assert max(deploys) / usual_deploy < SLOWER
    assert await stack[Nats].accepts_login(Program.OPERATOR)
