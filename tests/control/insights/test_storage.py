"""How much sites store is shown to those who see them."""

from datetime import timedelta

from stead.control.app import ControlPlane
from stead.control.insights.storage import DAYS, record_today
from stead.shared.clock import MovableClock
from stead.shared.ids import new_id
from tests.conftest import NewPerson
from tests.control.conftest import Pin
from tests.control.served_site import ServedSite, create_served_site


async def store(site: ServedSite, size: int) -> None:
    await site.driver.execute(
        "insert into uploads (id, site_id, size, created_at, expires_at) values ($1, $2, $3, now(), now())",
        *(new_id("upl"), site.id, size),
    )


async def test_storage_is_shown_now_and_for_each_day(
    plane: ControlPlane, new_person: NewPerson, clock: MovableClock, pinned: Pin
) -> None:
    site, other = [await create_served_site(plane, await new_person()) for _ in range(2)]
    # A session would end before the clock has moved so far.
    key = await site.person.key("observability:read")
    await store(other, 7_000)
    await store(site, 1_000)
    await record_today(plane.database)
    await record_today(plane.database)
    clock.move(timedelta(days=1))
    await store(site, 500)
    await record_today(plane.database)
    response = await key.get("/v1/usage/storage")
    (found,) = response.json()["data"]["sites"]
    assert (found["site_id"], found["bytes"]) == (site.id, 1_500)
    assert [day["bytes"] for day in found["series"]] == [1_000, 1_500]
    latest = (await key.get("/v1/usage/storage?latest=true")).json()["data"]
    assert (latest["days"], latest["sites"][0]["series"]) == (0, [])
    clock.move(timedelta(days=DAYS))
    old = (await key.get("/v1/usage/storage")).json()["data"]
    assert len(old["sites"][0]["series"]) == 0
    clock.move(timedelta(days=20))
    await record_today(plane.database)
    async with plane.database.reading() as tx:
        assert await tx.value("select count(*) from site_storage where site_id = $1", site.id) == 1
    elsewhere = await pinned(site.person, ("site", other.id))
    assert (await elsewhere.get("/v1/usage/storage")).json()["data"]["sites"] == []
