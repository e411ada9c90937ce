"""What the database holds of somebody: every row of every table that mentions one of their identifiers."""

from collections.abc import Iterable

from stead.control.engines.postgres import Database, Tx
from tests.matrix.world import World

_TABLES = """
  select c.oid::regclass::text from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
"""


async def tables(tx: Tx) -> list[str]:
    return sorted(await tx.all(str, _TABLES))


async def rows_mentioning(tx: Tx, words: Iterable[str]) -> set[tuple[str, str]]:
    """Each as its table and its text."""
    known = list(words)
    found: set[tuple[str, str]] = set()
    for table in await tables(tx):
        found |= await _mentioning(tx, table, known)
    return found


async def _mentioning(tx: Tx, table: str, words: Iterable[str]) -> set[tuple[str, str]]:
    sql = f"select t::text from {table} t where t::text like any($1)"
    return {(table, row) for row in await tx.all(str, sql, [f"%{word}%" for word in words])}


def ids_of(world: World) -> set[str]:
    people = (world.founder, world.subject, world.expired, world.stranger, world.victim, world.newcomer)
    things = [*world.things.values(), *world.loose_sites.values()]
    return {
        *(person.id for person in people),
        *(thing.id for thing in things),
        *(world.team, world.other_team, world.entry_team, world.invite),
    }


async def belongings(database: Database, world: World) -> set[tuple[str, str]]:
    """A table at a time: nobody may hold a connection as long as all of them take."""
    words = ids_of(world)
    async with database.reading() as tx:
        names = await tables(tx)
    found: set[tuple[str, str]] = set()
    for table in names:
        async with database.reading() as tx:
            found |= await _mentioning(tx, table, words)
    return found
