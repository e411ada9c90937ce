"""Notification emails: the first is sent immediately, later ones are collected for a quarter of an hour.

Every email has an unsubscribe link, for people and for one-click unsubscribing by mail programs (RFC 8058).
"""

from stead.control.engines.postgres import Database
from stead.control.notifications import store, unsubscribing
from stead.control.notifications.email_templates import notification_email
from stead.control.notifications.rules import DIGEST_EVERY
from stead.control.outbox import mail
from stead.control.sealing import Sealer


class DigestMailer:
    """Turns notifications into emails in the email outbox."""

    def __init__(self, database: Database, sealer: Sealer, *, base_url: str) -> None:
        self._database, self._sealer, self._base_url = database, sealer, base_url.rstrip("/")

    async def enqueue_due(self) -> int:
        """Enqueue the emails that are due, one transaction per person. Return how many people had any."""
        people = 0
        while await self._enqueue_next():
            people += 1
        return people

    async def _enqueue_next(self) -> bool:
        async with self._database.transaction() as tx:
            recipient = await store.next_recipient(tx, DIGEST_EVERY)
            if recipient is None:
                return False
            account, address = recipient
            entries = await store.claim_for_email(tx, account)
            if entries:
                categories = sorted({each.category for each in entries})
                link = unsubscribing.link(self._sealer, self._base_url, account, categories)
                email = notification_email(address, entries, base_url=self._base_url, unsubscribe_url=link)
                await mail.enqueue_email(tx, self._sealer, email)
        return True
