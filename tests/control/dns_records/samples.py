"""Sample DNS records for the suites that cover every operation."""

from dataclasses import replace

from stead.control.dns_records.rules import RecordNotFound, VisibleRecord
from stead.control.engines.postgres import Tx
from stead.shared.ids import new_id
from tests.feature_samples import Samples, Values
from tests.matrix.visibility import sees_site
from tests.matrix.world import World
from tests.people import Person


async def insert_record(tx: Tx, site: str) -> str:
    record = new_id("rec")
    await tx.run(
        "insert into dns_zones (site_id, name, mode, version, changed_at, next_attempt_at)"
        " select id, domain, mode, 1, $2, $2 from sites where id = $1",
        *(site, tx.now),
    )
    await tx.run(
        "insert into dns_records (id, site_id, type, name, value, ttl, version, created_at)"
        " select $2, id, 'A', 'sample.' || domain, '192.0.2.1', 300, 1, $3 from sites where id = $1",
        *(site, record, tx.now),
    )
    return record


async def _record(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_record(tx, made["site_id"])


async def _make_things(tx: Tx, world: World) -> None:
    for flavour, env in world.environments():
        record = await insert_record(tx, env.site or "")
        world.add(flavour, replace(env, kind=VisibleRecord, id=record))


CHANGES = frozenset({"dns_records.create", "dns_records.update", "dns_records.delete"})

SAMPLES = Samples(
    path_makers={"record_id": _record},
    visibility={VisibleRecord: (sees_site, RecordNotFound)},
    make_things=_make_things,
    path_ids={"record_id": lambda asking: asking.world.thing(VisibleRecord, asking.flavour).id},
    open_to_test_keys=CHANGES,
    silent_operations=dict.fromkeys(CHANGES, "Name servers have it within seconds; the record says when."),
)
