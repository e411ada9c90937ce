"""Sample jobs for the suites that cover every operation."""

from tests.feature_samples import Samples, Values
from tests.people import Person
from tests.teams import insert_job, insert_site


async def _ended_job(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_job(tx, await insert_site(tx, account=person.id), person.id, status="succeeded")


async def _queued_job(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_job(tx, await insert_site(tx, account=person.id), person.id)


SAMPLES = Samples(
    path_makers={"job_id": _ended_job},
    path_makers_of={"jobs.cancel": {"job_id": _queued_job}},
    audit_locations={
        "jobs.cancel": lambda asking, _: (
            asking.world.queued_jobs[asking.flavour].team,
            asking.world.queued_jobs[asking.flavour].site,
        )
    },
)
