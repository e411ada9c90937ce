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


async def current_position(database: Database) -> int:
    """Rows that are written from now on have a later one."""
    async with database.reading() as tx:
        return int(await tx.value("select pg_current_xact_id()::text"))


async def rows_mentioning(
    database: Database, words: Iterable[str], since: int | None = None
) -> set[tuple[str, str]]:
    """Each as its table and its text. A table at a time: no transaction may take as long as all of them.

    `since` leaves out rows that were written before that position. Reading every row that earlier tests have
    written would take most of the time of a test; they cannot mention an identifier that is newer."""
    known = list(words)
    async with database.reading() as tx:
        names = await tables(tx)
    found: set[tuple[str, str]] = set()
    for table in names:
        async with database.reading() as tx:
            found |= await _mentioning(tx, table, known, since)
    return found


async def _mentioning(tx: Tx, table: str, words: Iterable[str], since: int | None) -> set[tuple[str, str]]:
    sql = f"select t::text from {table} t where t::text like any($1)"
    args: list[object] = [[f"%{word}%" for word in words]]
    if since is not None:
        # The first condition is cheap, and decides about most rows.
        sql = f"select t::text from {table} t where age(t.xmin) <= age($2::xid) and t::text like any($1)"
        args.append(since)
    return {(table, row) for row in await tx.all(str, sql, *args)}


def ids_of(world: World) -> set[str]:
    people = (world.founder, world.subject, world.expired, world.stranger, world.victim, world.newcomer)
    things = [*world.things.values(), *world.loose_sites.values()]
    return {
        *(person.id for person in people),
        *(thing.id for thing in things),
        *(world.team, world.other_team, world.entry_team, world.invite),
    }


async def belongings(database: Database, world: World, since: int) -> set[tuple[str, str]]:
    """`since` is a position before the world was made."""
    return await rows_mentioning(database, ids_of(world), since)
