"""What becomes of jobs when a node is lost for good."""

from stead.control.app import ControlPlane
from stead.control.node_removal import cancel_waiting
from tests.control.site_driver import SiteDriver, request_site
from tests.people import Person


async def test_jobs_that_wait_for_the_node_are_cancelled_whichever_site_they_belong_to(
    plane: ControlPlane, person: Person
):
    """A build may run on another node than its site."""
    driver = SiteDriver(plane)
    jobs = {}
    for asked in (("gone",), ("other", "gone"), ("gone", "other"), ("other",)):
        jobs[asked] = (await request_site(person.session)).json()["data"]["id"]
        await driver.execute(
            "update jobs set status = 'running', nodes = $2 where id = $1", jobs[asked], list(asked)
        )
    await cancel_waiting(plane.database, "gone")
    requested = {
        asked: await driver.fetch_value("select cancel_requested_at is not null from jobs where id = $1", job)
        for asked, job in jobs.items()
    }
    assert requested == {
        ("gone",): True,
        ("other", "gone"): True,
        ("gone", "other"): False,
        ("other",): False,
    }
