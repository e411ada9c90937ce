"""How a change to a credential reaches every API process at once.

Each process keeps the principals it has seen. A mark in Redis says which copy is current; moving the mark
outdates all copies. The wish to move it commits with the change, so that it survives a crash between the
commit and the move, and is repeated until Redis has it.
"""

import secrets

from stead.control.engines.postgres import Database, Invalidation, Tx
from stead.control.engines.redis import Redis, RedisDown, ReplyError
from stead.control.http.rate_limits import FRESHNESS_MARK_SECONDS, freshness_mark_key


async def invalidate_cached_principals(tx: Tx, *subjects: str) -> None:
    """Make every cached copy of these credentials or accounts stale once the transaction commits."""
    noted = await tx.all(
        Invalidation,
        "insert into outdated_subjects (subject) select unnest($1::text[]) returning id, subject",
        list(subjects),
    )
    tx.invalidations.extend(noted)


class PrincipalCacheInvalidator:
    def __init__(self, database: Database, redis: Redis) -> None:
        self._database, self._redis = database, redis

    async def publish(self, noted: list[Invalidation]) -> None:
        """Move the marks of what a transaction has just outdated. A failure is left to `sweep`."""
        try:
            await self._move([each.subject for each in noted])
        except (RedisDown, ReplyError):
            return
        async with self._database.reading() as tx:
            await tx.run("delete from outdated_subjects where id = any($1)", [each.id for each in noted])

    async def publish_pending(self) -> int:
        """Move the marks that a crash or an absent Redis left behind."""
        async with self._database.transaction() as tx:
            left = await tx.all(
                str,
                "delete from outdated_subjects where id in"
                " (select id from outdated_subjects order by id limit 500 for update skip locked)"
                " returning subject",
            )
            if left:
                await self._move(left)
        return len(left)

    async def _move(self, subjects: list[str]) -> None:
        for subject in subjects:
            await self._redis.execute(
                "SET", freshness_mark_key(subject), secrets.token_bytes(9), "EX", FRESHNESS_MARK_SECONDS
            )
