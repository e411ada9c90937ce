"""Static environments behind a real nginx: what visitors can and cannot see."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from stead.dev.engines.nginx import Nginx
from stead.dev.running_stack import RunningStack, run_stack
from stead.node.drivers.driver import Refusal
from stead.protocol.edge_records import PLACEHOLDER
from stead.protocol.work.hosting import Probe
from tests.node.driver_pairs import live_drivers, new_assignment, new_host


@pytest.fixture(scope="module")
async def stack(shared_scratch: Path) -> AsyncIterator[RunningStack]:
    async with run_stack(shared_scratch, [Nginx]) as stack:
        yield stack


async def test_the_placeholder_page_loads_no_other_files(stack: RunningStack) -> None:
    node, it, name = live_drivers(stack), new_assignment(), new_host()
    await node.runtime.ensure_environment(it)
    await node.announce(it, [name])
    async with httpx.AsyncClient(timeout=60.0) as client:
        page = await client.get(f"http://{stack[Nginx].address}/", headers={"host": name})
        assert page.status_code == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert "is ready for its first deployment" in page.text
        assert "http://" not in page.text.replace("https", "http")
        assert (
            await client.get(f"http://{stack[Nginx].address}/no", headers={"host": name})
        ).status_code == 404


@pytest.mark.parametrize("asked", ["../environments", "..", "hosts/..", "."])
async def test_a_host_header_cannot_select_a_path(stack: RunningStack, asked: str) -> None:
    node, it = live_drivers(stack), new_assignment()
    await node.runtime.ensure_environment(it)
    async with httpx.AsyncClient(timeout=60.0) as client:
        answer = await client.get(f"http://{stack[Nginx].address}/", headers={"host": asked})
    assert answer.status_code in {400, 403, 404}


async def test_a_link_that_leaves_a_release_is_not_served(stack: RunningStack) -> None:
    node, it, name = live_drivers(stack), new_assignment(), new_host()
    await node.runtime.ensure_environment(it)
    await node.announce(it, [name])
    (node.data / "releases" / PLACEHOLDER / "leak").symlink_to("/etc/hostname")
    async with httpx.AsyncClient(timeout=60.0) as client:
        answer = await client.get(f"http://{stack[Nginx].address}/leak", headers={"host": name})
    assert answer.status_code == 404
    with pytest.raises(Refusal, match="404"):
        await node.edge.probe(it, Probe(name, "/leak"))


async def test_a_probe_fails_while_the_edge_is_down_and_succeeds_when_it_is_back(
    scratch: Path,
) -> None:
    async with run_stack(scratch, [Nginx]) as stack:
        node, it, name = live_drivers(stack), new_assignment(), new_host()
        await node.runtime.ensure_environment(it)
        await node.announce(it, [name])
        await stack.stop(Nginx)
        probing = asyncio.create_task(node.answers(it, name))
        await stack.start(Nginx)
        with pytest.raises(Refusal, match="503"):
            await probing
        await node.announce(it, [name])
        await node.answers(it, name)
        await stack.stop(Nginx)
        with pytest.raises(Refusal, match="cannot be reached"):
            await node.answers(it, name)
