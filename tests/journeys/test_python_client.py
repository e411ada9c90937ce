"""The clients against a whole installation: a folder becomes a site, over a network with faults."""

import asyncio
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stead.dev.running_stack import RunningStack
from stead_sdk import AsyncStead, Stead, errors
from tests.clients.fault_proxy import FaultProxy, fault_proxy
from tests.clients.typescript import node

WAIT = 240.0


@pytest.fixture
async def faulty(stack: RunningStack) -> AsyncIterator[FaultProxy]:
    async with fault_proxy(stack.api.url) as proxy:
        yield proxy


@pytest.fixture
def client(stack: RunningStack, faulty: FaultProxy) -> Stead:
    account = stack.secrets.account
    assert account is not None
    return Stead(account.api_key, base_url=faulty.address)


def pack(folder: Path, archive: Path) -> Path:
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(folder, ".")
    return archive


async def test_a_folder_becomes_a_site(client: Stead, faulty: FaultProxy, tmp_path: Path):
    site = await asyncio.to_thread(
        lambda: client.sites.create(domain="sdk.example.com", profile="static").result(WAIT)
    )
    assert (site.domain, site.status) == ("sdk.example.com", "running")

    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("<h1>From the SDK</h1>")
    archive = pack(folder, tmp_path / "site.tar.gz")
    progress: list[tuple[int, int]] = []
    upload = await asyncio.to_thread(
        client.upload_file, site.id, archive, lambda sent, total: progress.append((sent, total))
    )
    size = archive.stat().st_size
    assert progress[-1] == (size, size)

    job = await asyncio.to_thread(
        lambda: client.builds.create(
            site.id, "production", builder="static", source=upload.id, auto_deploy=True
        )
    )
    faulty.then("cut:500", "cut:1500", "refuse", "503", "cut:2500", "429")
    events = await asyncio.to_thread(lambda: list(job.events()))
    lines = [event.id for event in events if event.kind == "output"]
    assert len(set(lines)) == len(lines)
    assert lines
    assert events[-1].kind == "done"
    faulty.then("cut:800", "429", "cut:1200", "refuse", "cut:2000")
    async with AsyncStead(client._api_key, base_url=faulty.address) as other:
        again = [event async for event in other.jobs.stream(job.id)]
    # The second part of an id is the last status that was sent, which differs for a job that has ended.
    numbers = [event.id.partition(".")[0] for event in again if event.kind == "output"]
    assert numbers == [line.partition(".")[0] for line in lines]
    faulty.then("cut:700", "503", "cut:1300", "refuse", "cut:2100")
    async with node(faulty.address, client._api_key) as typescript:
        told = await typescript.call("jobs.stream", job.id)
    assert [event["id"].partition(".")[0] for event in told if event["kind"] == "output"] == numbers
    assert told[-1]["kind"] == "done"
    build = await asyncio.to_thread(job.result, WAIT)
    assert build.status == "succeeded"

    [deployment] = await asyncio.to_thread(lambda: list(client.deployments.list(site.id, "production")))
    deployed = await asyncio.to_thread(lambda: list(client.jobs.list(site_id=site.id)))
    assert {each.type for each in deployed} >= {"build.run", "deployment.deploy"}
    assert deployment.status in ("pending", "deploying", "live")

    with pytest.raises(errors.APIError):
        await asyncio.to_thread(lambda: client.sites.delete(site.id, confirm_domain="another.example.com"))
    deletion = await asyncio.to_thread(lambda: client.sites.delete(site.id, confirm_domain=site.domain))
    await asyncio.to_thread(deletion.wait, WAIT)
