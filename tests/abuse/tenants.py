"""Tenants of one installation: an attacker with an account of its own, and a neighbour who is measured."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec

from stead.shared.ids import new_id
from tests.delivery.delivery import Delivery, Site
from tests.faults.jobs.harness import PLAN
from tests.percentiles import p99

VISITS = 200


@dataclass(frozen=True)
class Tenant:
    delivery: Delivery
    client: httpx.AsyncClient

    async def site(self) -> Site:
        domain = f"{new_id('d').removeprefix('d_')}.example.com"
        job = await self.ended("/v1/sites", {"domain": domain, "profile": "static"})
        assert job["status"] == "succeeded", job
        return Site(job["resource"]["site_id"], job["result"]["env_id"], domain)

    async def ended(self, path: str, body: object) -> dict[str, Any]:
        """The job that was accepted, once it has ended."""
        answer = await self.client.post(path, json=body)
        assert answer.status_code == 202, answer.text
        job = str(answer.json()["data"]["id"])
        await self.delivery.harness.ended(job)
        found: dict[str, Any] = (await self.client.get(f"/v1/jobs/{job}")).json()["data"]
        return found

    async def upload(self, site: Site, size: int) -> dict[str, Any]:
        answer = await self.client.post(f"/v1/sites/{site.id}/uploads", json={"size_bytes": size})
        assert answer.status_code == 201, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data


@asynccontextmanager
async def new_tenant(delivery: Delivery, plan: str) -> AsyncIterator[Tenant]:
    """The plan has high rate limits, because a test has no time to wait for them, and little storage."""
    email = f"{new_id('a').removeprefix('a_')}@example.com"
    if not await delivery.harness.sql("select from plans where name = $1", plan):
        await delivery.harness.sql(PLAN.format(name=plan, jobs=4))
        await delivery.harness.sql("update plans set max_storage_gb = 1 where name = $1", plan)
    said = await delivery.steadctl(
        *("accounts", "create", "--email", email, "--name", "B", "--plan", plan, "--with-key")
    )
    headers = {"authorization": f"Bearer {msgspec.json.decode(said)['api_key']}"}
    base = delivery.harness.stack.environment()["STEAD_BASE_URL"]
    async with httpx.AsyncClient(base_url=base, headers=headers, timeout=60) as client:
        yield Tenant(delivery, client)


@dataclass(frozen=True)
class Neighbour:
    """A site whose visitors and deployments are measured before and during an attack."""

    delivery: Delivery
    site: Site

    async def visit(self, count: int = VISITS) -> float:
        """The p99 of so many visits in seconds. Every one of them must succeed."""
        took = []
        for _ in range(count):
            began = time.perf_counter()
            answer = await self.delivery.visit(self.site)
            took.append(time.perf_counter() - began)
            assert answer.status_code == 200, answer.text
        return p99(took)

    async def deploy(self, page: str) -> float:
        """The seconds until a new page is live. It must be."""
        artifact = await self.delivery.artifact(self.site, {"index.html": page})
        began = time.perf_counter()
        job = await self.delivery.deployed(self.site, artifact)
        took = time.perf_counter() - began
        assert job["status"] == "succeeded", job
        assert (await self.delivery.visit(self.site)).text == page
        return took


async def new_neighbour(delivery: Delivery) -> Neighbour:
    neighbour = Neighbour(delivery, await delivery.site("live"))
    await neighbour.deploy("the first page")
    return neighbour
