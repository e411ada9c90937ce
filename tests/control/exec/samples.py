"""Sample sites for commands: only WordPress sites run them."""

from tests.feature_samples import Samples, Values
from tests.people import Person
from tests.teams import insert_site


async def insert_wordpress_site(person: Person) -> str:
    async with person.transaction() as tx:
        site = await insert_site(tx, account=person.id)
        await tx.run("update sites set profile = 'vanilla', runtime = 'cms' where id = $1", site)
        return site


async def _wordpress_site(person: Person, _: Values) -> str:
    return await insert_wordpress_site(person)


SAMPLES = Samples(
    path_makers_of={"exec.run": {"site_id": _wordpress_site}}, open_to_test_keys=frozenset({"exec.run"})
)
