"""Invalidates cached principals in all API processes when a credential or account changes.

Each process caches the principals of recent requests together with their freshness marks in Redis. Changing a
mark makes every cached copy stale. A row in `outdated_subjects` commits together with the change, so that the
mark is also changed after a crash, or once Redis is reachable again.
"""

import secrets

from stead.control.engines.postgres import Database, Invalidation, Tx
from stead.control.engines.redis import Redis, RedisDown, ReplyError
from stead.control.http.rate_limits import FRESHNESS_MARK_SECONDS, freshness_mark_key


async def invalidate_cached_principals(tx: Tx, *subjects: str) -> None:
    """Make every cached copy of these credentials or accounts stale once the transaction commits."""
    invalidations = await tx.all(
        Invalidation,
        "insert into outdated_subjects (subject) select unnest($1::text[]) returning id, subject",
        list(subjects),
    )
    tx.invalidations.extend(invalidations)


class PrincipalCacheInvalidator:
    def __init__(self, database: Database, redis: Redis) -> None:
        self._database, self._redis = database, redis

    async def publish(self, invalidations: list[Invalidation]) -> None:
        """Change the marks after a transaction has committed. If Redis fails, `publish_pending` retries."""
        try:
            await self._change_marks([each.subject for each in invalidations])
        except (RedisDown, ReplyError):
            return
        await self._delete(invalidations)

    async def publish_pending(self) -> int:
        """Change the marks that were left over by a crash or while Redis was unreachable."""
        async with self._database.reading() as tx:
            pending = await tx.all(
                Invalidation, "select id, subject from outdated_subjects order by id limit 500"
            )
        if pending:
            # Other processes may do the same at the same time: changing a mark twice is harmless.
            await self._change_marks([each.subject for each in pending])
            await self._delete(pending)
        return len(pending)

    async def _delete(self, done: list[Invalidation]) -> None:
        async with self._database.reading() as tx:
            await tx.run("delete from outdated_subjects where id = any($1)", [each.id for each in done])

    async def _change_marks(self, subjects: list[str]) -> None:
        for subject in subjects:
            await self._redis.execute(
                "SET", freshness_mark_key(subject), secrets.token_bytes(9), "EX", FRESHNESS_MARK_SECONDS
            )
