"""A site that can be backed up."""

from collections.abc import AsyncIterator

import pytest

from tests.control.backups.snapshot_jobs import NODE
from tests.control.exec.samples import insert_wordpress_site
from tests.enrolled_nodes import record_node
from tests.people import Person


@pytest.fixture
async def site(person: Person) -> AsyncIterator[str]:
    """A live WordPress site, on a node that nobody runs."""
    id_ = await insert_wordpress_site(person)
    async with person.transaction() as tx:
        await record_node(tx, NODE, "nowhere")
        await tx.run("update sites set php_version = '8.2' where id = $1", id_)
        await tx.run("update environments set node_id = $2 where site_id = $1", id_, NODE)
    yield id_
    async with person.transaction() as tx:
        await tx.run("update environments set node_id = null where site_id = $1", id_)
