"""Recognizes deliveries that report an earlier state of a branch, so that a replay has no effect.

The same delivery again is recognized by its digest (`deliveries.py`). This module covers what digests do not:
a delivery that was forgotten, or whose unsigned parts were changed. Forges sign no time of delivery, but a
payload names the commit before the push, the commit after it and the commits in between, and GitHub adds the
time of the push. A delivery is newer if it continues from the known head of the branch, or if it reports a
commit that was never reported.
"""

from datetime import timedelta

from stead.control.engines.postgres import Tx
from stead.control.git import commit_store
from stead.control.git.payloads import Delivery
from stead.control.git.rules import DELIVERY_RETENTION

MAX_DELAY = timedelta(minutes=5)
"""A later delivery counts only if the branch has not moved since."""
TOO_OLD = "The push is too old."
MOVED_SINCE = "The push is more than five minutes old, and the branch has moved since."
NOT_NEWER = "The commit is not newer than the head of the branch."


async def find_staleness(tx: Tx, site: str, delivery: Delivery) -> str | None:
    """Why the push has no effect; None if it is newer than what is known."""
    push = delivery.push
    if push is None:
        return None
    age = timedelta() if delivery.pushed_at is None else tx.now - delivery.pushed_at
    if age > DELIVERY_RETENTION:
        return TOO_OLD
    head = await commit_store.find_head(tx, site, push.branch)
    if delivery.follows(head):
        return None
    if age > MAX_DELAY and head is not None:
        return MOVED_SINCE
    named = [commit for commit in (push.commit, delivery.before) if commit]
    known = await commit_store.find_known(tx, site, push.branch, named)
    return NOT_NEWER if named and known == set(named) else None


async def record_commits(tx: Tx, site: str, delivery: Delivery) -> None:
    push = delivery.push
    if push is not None:
        earlier = [*delivery.commits, *([delivery.before] if delivery.before else [])]
        await commit_store.record(tx, site, push.branch, push.commit, earlier)
