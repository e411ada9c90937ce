"""Which columns of the database are sealed, and how they are sealed again with a new key.

A feature declares its sealed columns in `feature.py`. `steadctl keys rotate` reads the declarations.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stead.control.engines.postgres import Database, Tx
from stead.control.sealing import Sealer

BATCH_SIZE = 200


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column of `bytea`; or, with `json_path`, a text in base64 at this path of a `jsonb` column.

    `context` returns the sealing context of the row with a given value in the column `key`.
    """

    table: str
    key: str
    column: str
    context: Callable[[str], bytes]
    json_path: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """The SQL expression of the sealed value."""
        if self.json_path:
            return f"decode({self.column} #>> '{{{','.join(self.json_path)}}}', 'base64')"
        return self.column

    def assignment(self, parameter: str) -> str:
        """The SQL expression that replaces the sealed value."""
        if self.json_path:
            path = ",".join(self.json_path)
            return f"jsonb_set({self.column}, '{{{path}}}', to_jsonb({parameter}::text))"
        return parameter

    def encode(self, sealed: bytes) -> bytes | str:
        return base64.b64encode(sealed).decode() if self.json_path else sealed


async def reseal(database: Database, sealer: Sealer, column: SealedColumn) -> int:
    """Seal every value of a column with the current key that was sealed with another one. Returns how many.

    Each batch is a short transaction, so that nothing waits for it. A value that is written meanwhile is left
    as it is: whoever writes it uses the current key.
    """
    resealed, after = 0, ""
    while True:
        async with database.transaction() as tx:
            rows = await _list_outdated(tx, sealer, column, after)
            for key, sealed in rows:
                new = sealer.reseal(sealed, context=column.context(key))
                resealed += await _replace(tx, column, key, sealed, new)
        if len(rows) < BATCH_SIZE:
            return resealed
        after = rows[-1][0]


async def count_outdated(tx: Tx, sealer: Sealer, columns: Sequence[SealedColumn]) -> int:
    """How many values still need an older key."""
    total = 0
    for column in columns:
        total += await tx.value(
            f"select count(*) from {column.table} where {column.value} is not null"  # noqa: S608
            f" and substring({column.value} for {len(sealer.head)}) <> $1",
            sealer.head,
        )
    return total


async def _list_outdated(tx: Tx, sealer: Sealer, column: SealedColumn, after: str) -> list[tuple[str, bytes]]:
    return await tx.all(
        lambda key, sealed: (key, sealed),
        f"select {column.key}, {column.value} from {column.table}"  # noqa: S608
        f" where {column.key} > $1 and {column.value} is not null"
        f" and substring({column.value} for {len(sealer.head)}) <> $2 order by {column.key} limit $3",
        after,
        sealer.head,
        BATCH_SIZE,
    )


async def _replace(tx: Tx, column: SealedColumn, key: str, old: bytes, new: bytes) -> int:
    return await tx.run(
        f"update {column.table} set {column.column} = {column.assignment('$3')}"  # noqa: S608
        f" where {column.key} = $1 and {column.value} = $2",
        key,
        old,
        column.encode(new),
    )
