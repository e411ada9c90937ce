"""Waiting for what a push starts: a build, a deployment, another status of the site."""

import asyncio
from typing import Any

from tests.journeys.customer import Customer
from tests.patience import time_limit


async def become(customer: Customer, site: str, status: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        found: dict[str, Any] = await customer.get(site)
        return found if found["status"] == status else None

    return await _until(look, f"a site that is {status}")


async def built(customer: Customer, environment: str, commit: str) -> dict[str, Any]:
    """Wait until the build of this commit has succeeded."""

    async def look() -> dict[str, Any] | None:
        for build in await customer.get(f"{environment}/builds"):
            if build["commit"] == commit or build["status"] in ("queued", "running"):
                await customer.follow(build["job_id"])
                found: dict[str, Any] = await customer.get(f"{environment}/builds/{build['id']}")
                return found if found["commit"] == commit else None
        return None

    return await _until(look, f"a build of {commit}")


async def deployed(
    customer: Customer, environment: str, artifact: str, *, status: str = "succeeded"
) -> dict[str, Any]:
    """Wait until the job that deploys this artifact has ended in this way."""

    async def look() -> dict[str, Any] | None:
        for deployment in await customer.get(f"{environment}/deployments"):
            if deployment["artifact_id"] == artifact:
                if deployment["status"] not in ("live", "superseded"):
                    await customer.follow(deployment["job_id"], status=status)
                return dict(deployment)
        return None

    return await _until(look, f"a deployment of {artifact}")


async def _until(look: Any, what: str) -> dict[str, Any]:
    try:
        async with time_limit(120):
            while True:
                if (found := await look()) is not None:
                    return dict(found)
                await asyncio.sleep(0.2)
    except TimeoutError:
        raise AssertionError(f"there was never {what}") from None
