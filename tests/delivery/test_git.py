"""From a push to the live site, with the real jobs of a complete installation. The simulator builds."""

import asyncio

import httpx

from tests.control.git.forges import DeliveryRequest, github, github_push
from tests.delivery.delivery import Delivery, Site
from tests.faults.jobs.programs import until

REPOSITORY = "https://git.example.com/octo/site.git"


def commit(number: int) -> str:
    return f"{number + 1:040x}"


async def _secret(delivery: Delivery, site: Site) -> str:
    body = {"rules": [], "roll_hook_secret": True}
    answer = await delivery.harness.ask("PUT", f"/v1/sites/{site.id}/branch-routes", body, status=200)
    return str(answer["hook_secret"])


async def _post(delivery: Delivery, site: Site, posted: DeliveryRequest) -> httpx.Response:
    base = delivery.harness.client.base_url
    async with httpx.AsyncClient(base_url=base, timeout=30) as forge:
        return await forge.post(f"/hooks/git/{site.id}", content=posted.body, headers=posted.headers)


async def _builds(delivery: Delivery, site: Site) -> list[tuple[str, str, str]]:
    rows = await delivery.harness.sql(
        "select job_id, status, commit from builds where site_id = $1 order by id", site.id
    )
    return [(row["job_id"], row["status"], row["commit"]) for row in rows]


async def _live(delivery: Delivery, site: Site) -> str | None:
    rows = await delivery.harness.sql(
        "select commit from deployments where env_id = $1 and status = 'live'", site.env
    )
    return str(rows[0]["commit"]) if rows else None


async def test_a_site_from_git_is_built_by_itself_and_then_with_every_push_the_newest_alone(
    delivery: Delivery,
) -> None:
    site = await delivery.site("test", git_repo=REPOSITORY)

    async def first_is_live() -> bool:
        return await _live(delivery, site) is not None

    await until(first_is_live, "the first build is live")
    ((first, status, _),) = await _builds(delivery, site)
    assert (first, status) == (first, "succeeded")

    secret, node = await _secret(delivery, site), delivery.harness.node

    def pushed(number: int) -> DeliveryRequest:
        return github(github_push("refs/heads/main", commit(number), REPOSITORY), secret)

    queue = await delivery.harness.lock_queue()
    try:
        answered = await _post(delivery, site, pushed(0))
        assert answered.status_code == 202, answered.text
        (decision,) = answered.json()["data"]["decisions"]
        build = (decision["job_id"], "build")
        node.hold([build])
    finally:
        queue.terminate()
    await node.wait_until_held([build])
    try:
        for number in range(1, 51):
            answered = await _post(delivery, site, pushed(number))
            assert answered.status_code == 202, answered.text
        again = await asyncio.gather(*(_post(delivery, site, pushed(50)) for _ in range(3)))
        assert {each.status_code for each in again} == {202}
        assert len(await _builds(delivery, site)) == 2
    finally:
        node.release(build)

    async def newest_is_live() -> bool:
        return await _live(delivery, site) == commit(50)

    await until(newest_is_live, "the newest push is live", bound=90)
    built = [each for _, _, each in await _builds(delivery, site)]
    assert built[1:] == [commit(0), commit(50)]
