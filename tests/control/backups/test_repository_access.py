"""What a node gets to read or extend the repository of a site."""

import base64
from datetime import timedelta

from stead.control.app import ControlPlane
from stead.control.backups import maintenance_store, repositories
from stead.control.backups import store as repository_store
from stead.control.engines.postgres import Tx
from stead.control.jobs.repository_access import repository_password_context
from stead.control.sealing import Sealer
from tests.people import Person


async def test_the_password_is_sealed_and_a_node_gets_what_it_needs_for_one_site(
    person: Person, plane: ControlPlane, site: str
) -> None:
    sealer = Sealer.from_text(plane.settings.sealing_key)
    sealed = sealer.seal(b"a password", context=repository_password_context(site))
    async with person.transaction() as tx:
        assert (await repositories.build_access(tx, site, "read")).password == ""
        await tx.run(
            "insert into repositories (site_id, password, created_at) values ($1, $2, $3)",
            site,
            sealed,
            tx.now,
        )
        access = await repositories.build_access(tx, site, "append")
    assert base64.b64decode(access.password) == sealed
    kind, added, as_of = access.url.split(" ")
    assert (kind, int(added) > 0, as_of) == ("append", True, "0")


async def test_files_that_came_after_a_snapshot_are_hidden_from_its_restore(
    person: Person, plane: ControlPlane, site: str
) -> None:
    async def read_moment(tx: Tx) -> int:
        access = await repositories.build_access(tx, site, "read", stored_at=stored)
        return int(access.url.split(" ")[2])

    async with person.transaction() as tx:
        stored = tx.now - timedelta(days=1)
        sealed = Sealer.from_text(plane.settings.sealing_key).seal(
            b"a password", context=repository_password_context(site)
        )
        await repository_store.insert_repository(tx, site, sealed)
        assert 0 < await read_moment(tx) - stored.timestamp() < 120
        # While files are being replaced, nobody knows which ones a snapshot needs.
        await maintenance_store.begin_rewriting(tx, site)
        assert await read_moment(tx) == 0
        await maintenance_store.end_rewriting(tx, site)
        assert 0 < await read_moment(tx) - tx.now.timestamp() < 120
