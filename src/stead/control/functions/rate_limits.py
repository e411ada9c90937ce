"""Records that functions got more requests than they may. The edges refuse those; nodes report it."""

from datetime import UTC, datetime

from stead.control.engines.postgres import Tx
from stead.control.functions import service, store
from stead.control.functions.events import FUNCTION_LIMITED
from stead.control.functions.rules import LIMITED_AGAIN_AFTER
from stead.control.outbox.events import Fact
from stead.protocol.commands import Activity

_LATEST = 1e10


async def record(tx: Tx, activity: Activity) -> None:
    """Nodes repeat their reports, and all workers receive them. There is an event for a function at most
    every quarter of an hour."""
    limited = {
        version: datetime.fromtimestamp(moment, UTC)
        for version, moment in activity.limited.items()
        if 0 <= moment < _LATEST
    }
    if not limited:
        return
    found = await store.list_limited(
        tx, activity.node, list(limited), list(limited.values()), again_after=LIMITED_AGAIN_AFTER
    )
    for function_id, version in found:
        function = await service.get(tx, function_id)
        limit = function.limits["requests_per_second"]
        facts: dict[str, Fact] = {"version_id": version, "requests_per_second": limit}
        await service.publish_event(tx, function, FUNCTION_LIMITED, job=None, **facts)
