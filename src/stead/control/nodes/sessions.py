"""Records in the audit trail who has entered a site over SSH."""

from datetime import UTC, datetime, timedelta

import msgspec
import structlog

from stead.control.engines.nats import Message, Nats
from stead.control.engines.nats_queue import take_messages
from stead.control.engines.postgres import Database, Tx
from stead.control.nodes import store
from stead.control.outbox import audit
from stead.protocol.commands import SessionReport, read_session
from stead.protocol.streams import sessions_consumer
from stead.shared.ids import AccountId
from stead.shared.token_bucket import TokenBucket

EVENT = "ssh.session"
PER_SECOND, BURST = 20.0, 600
"""Of one node. Nodes send ten in a second at most."""
MAX_DELAY, MAX_SKEW = timedelta(days=1), timedelta(minutes=1)
"""A node may report so late, and its clock may be so fast. Otherwise the time of NATS counts."""

log = structlog.get_logger()


class NodeLimits:
    """How many reports of each node are recorded. Their time is the one at which NATS received them: after an
    outage of the workers, all that were allowed then are allowed."""

    def __init__(self) -> None:
        self._buckets: dict[str, TokenBucket] = {}
        self._exceeded: set[str] = set()
        self._latest = 0.0

    def allows(self, node: str, received: datetime) -> bool:
        # One that is delivered again is older than others before it.
        self._latest = max(self._latest, received.timestamp())
        bucket = self._buckets.setdefault(node, TokenBucket(PER_SECOND, BURST, lambda: self._latest))
        if bucket.take():
            self._exceeded.discard(node)
            return True
        if node not in self._exceeded:
            self._exceeded.add(node)
            log.error("session.too_many", node=node)
        return False


async def receive_sessions(nats: Nats, database: Database) -> None:
    """Until cancelled."""
    limits = NodeLimits()

    async def handle(message: Message) -> None:
        node, received = message.subject.split(".")[1], message.metadata.timestamp
        if not limits.allows(node, received):
            return
        try:
            report = read_session(message.data)
        except (msgspec.MsgspecError, TypeError) as error:
            log.warning("session.malformed", subject=message.subject, error=type(error).__name__)
            return
        # NATS lets each node publish only under its own name.
        if report.node != node:
            return
        async with database.transaction() as tx:
            await record_session(tx, report, received)

    await take_messages(nats, sessions_consumer(), handle)


async def record_session(tx: Tx, report: SessionReport, received: datetime) -> bool:
    """A node may report only on environments that it hosts. The same report twice is recorded once."""
    found = await store.find_entered_site(tx, report.node, report.environment, report.account)
    if found is None:
        log.warning("session.not_recorded", node=report.node, environment=report.environment)
        return False
    actor = audit.Actor("system")
    if found.account_id is not None:
        actor = audit.Actor("member", AccountId(found.account_id), found.email)
    entry = audit.AuditEntry(actor, team_id=found.team_id, site_id=found.site_id)
    entry.note(
        session=report.session,
        environment=report.environment,
        credential=report.credential,
        address=report.address,
        client=report.client,
    )
    name = f"{report.node} {report.session}"
    return await audit.record_once(tx, EVENT, entry, _choose_moment(report, received), name)


def _choose_moment(report: SessionReport, received: datetime) -> datetime:
    entered = datetime.fromtimestamp(report.entered_at / 1000, UTC)
    return entered if received - MAX_DELAY <= entered <= received + MAX_SKEW else received
