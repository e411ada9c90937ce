"""Two hundred changes of what a site shows, and whoever reads it meanwhile."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from stead.node.drivers.releases import KEPT_RELEASES
from stead.protocol.work import release_of
from tests.delivery.delivery import Delivery, Site

CYCLES, READERS = 200, 4
ARTIFACTS = KEPT_RELEASES + 4
PAGE = "<p>number {number}</p>" + "x" * 50_000


@pytest.mark.timeout(900)
async def test_nobody_notices_two_hundred_deployments_and_rollbacks_and_the_disk_does_not_grow(
    delivery: Delivery, record_property: Callable[[str, object], None]
) -> None:
    site = await delivery.site()
    artifacts = [
        await delivery.artifact(site, {"index.html": PAGE.format(number=number)})
        for number in range(ARTIFACTS)
    ]
    before = delivery.releases
    done = asyncio.Event()
    readers = [asyncio.create_task(_read(delivery, site, done)) for _ in range(READERS)]
    sizes: list[int] = []
    deployed: list[str] = []
    try:
        for cycle in range(CYCLES):
            if cycle % 2 == 0:
                job = await delivery.deployed(site, artifacts[cycle // 2 % ARTIFACTS])
                deployed.append(job["resource"]["id"])
            else:
                older = deployed[max(0, len(deployed) - 3)]
                job = await delivery.ended("POST", f"{site.path}/deployments/{older}/rollback")
            assert job["status"] == "succeeded", job["error"]
            sizes.append(await asyncio.to_thread(_bytes_below, delivery.harness.node.data / "releases"))
    finally:
        done.set()
    seen = sum(await asyncio.gather(*readers), Counter[str]())
    reads = sum(seen.values())
    record_property("reads", reads)
    assert set(seen) == {"whole"}
    assert reads > CYCLES
    own = {release_of(await delivery.digest(artifact)) for artifact in artifacts}
    assert len(own & delivery.releases) <= KEPT_RELEASES
    assert delivery.releases - own <= before
    # From when the tenth was there: one in the making, and nothing that stays.
    settled = sizes[2 * KEPT_RELEASES :]
    assert max(settled) - min(settled) <= 2 * len(PAGE)


async def _read(delivery: Delivery, site: Site, done: asyncio.Event) -> Counter[str]:
    """How each answer was: the placeholder until the first deployment, and whole pages ever after."""
    seen: Counter[str] = Counter()
    while not done.is_set():
        answer = await delivery.visit(site)
        is_page = answer.text.startswith("<p>number ") and len(answer.text) >= len(PAGE) - len("{number}")
        fine = answer.status_code == 200 and (is_page or "first deployment" in answer.text)
        seen["whole" if fine else f"{answer.status_code} of {len(answer.text)}"] += 1
    return seen


def _bytes_below(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
