"""Two hundred changes of what a site shows, while visitors read it."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event

from bench.visitor import Visitor
from stead.node.drivers.releases import KEPT_RELEASES
from stead.protocol.work.releases import release_of
from tests.delivery.delivery import Delivery

CYCLES, READERS = 200, 4
READ_PAUSE = 0.01
"""Readers without a pause would take the processor time that the deployments need."""
ARTIFACTS = KEPT_RELEASES + 4
PAGE = "<p>number {number}</p>" + "x" * 50_000


async def test_visitors_notice_none_of_two_hundred_deployments_and_rollbacks_and_the_disk_does_not_grow(
    delivery: Delivery, record_property: Callable[[str, object], None]
) -> None:
    site = await delivery.site()
    artifacts = [
        await delivery.artifact(site, {"index.html": PAGE.format(number=number)})
        for number in range(ARTIFACTS)
    ]
    before = delivery.releases
    done = Event()
    readers = [
        asyncio.create_task(asyncio.to_thread(_read, delivery.edge, site.domain, done))
        for _ in range(READERS)
    ]
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
    # Once as many releases as are kept exist, the disk holds at most one more, which is being written.
    settled = sizes[2 * KEPT_RELEASES :]
    assert max(settled) - min(settled) <= 2 * len(PAGE)


def _read(edge: str, host: str, done: Event) -> Counter[str]:
    """Counts the responses: the placeholder until the first deployment, and whole pages from then on."""
    seen, visitor = Counter[str](), Visitor(edge)
    while not done.is_set():
        answer = visitor.get(host)
        visitor.close()
        is_page = answer.body.startswith(b"<p>number ") and len(answer.body) >= len(PAGE) - len("{number}")
        fine = answer.status == 200 and (is_page or b"first deployment" in answer.body)
        seen["whole" if fine else f"{answer.status} of {len(answer.body)}"] += 1
        time.sleep(READ_PAUSE)
    return seen


def _bytes_below(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
