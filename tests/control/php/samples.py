"""Sample sites for the version of PHP: only WordPress sites have one."""

from tests.control.exec.samples import insert_wordpress_site
from tests.feature_samples import Samples, Values
from tests.people import Person


async def _wordpress_site(person: Person, _: Values) -> str:
    return await insert_wordpress_site(person)


SAMPLES = Samples(
    path_makers_of={"sites.switch_php": {"site_id": _wordpress_site}},
    runtimes={"sites.switch_php": "cms"},
    open_to_test_keys=frozenset({"sites.switch_php"}),
)
