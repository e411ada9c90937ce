"""What is asked of tables as a whole: how large they are, and to forget sites. No row is read."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from stead.control.engines.clickhouse import ClickHouse, Statement
from stead.control.insights.tables import TABLES

_SITE_ID = re.compile(r"site_[0-9a-z]{26}")


class StoredTable(NamedTuple):
    name: str
    rows: int
    bytes: int


async def measure_tables(clickhouse: ClickHouse) -> list[StoredTable]:
    """For operators: sizes, and nothing of what is in the tables."""
    statement = Statement(
        "select table, sum(rows), sum(bytes_on_disk) from system.parts where active"
        " and database = currentDatabase() group by table order by table",
        {},
        {"output_format_json_quote_64bit_integers": 0},
    )
    found = {row.name: row for row in await clickhouse.read(StoredTable, statement)}
    return [found.get(table, StoredTable(table, 0, 0)) for table in TABLES]


async def erase_sites(clickhouse: ClickHouse, sites: Sequence[str]) -> None:
    """Delete every row of these sites. Nobody can read them afterwards, and the files that contain them are
    written again in the background. Can be repeated."""
    if not all(_SITE_ID.fullmatch(site) for site in sites):
        raise ValueError("these are not ids of sites")
    listed = ", ".join(f"'{site}'" for site in sites)
    for table in TABLES:
        await clickhouse.execute(f"delete from {table} where site_id in ({listed})")  # noqa: S608
        await clickhouse.execute(f"alter table {table} apply deleted mask settings mutations_sync = 0")
