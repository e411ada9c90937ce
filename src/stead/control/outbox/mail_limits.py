"""Limits on mail to addresses that belong to somebody else, or perhaps do.

Counted in the database, so that they hold whatever else fails.
"""

from datetime import timedelta
from hashlib import sha256

from stead.control.engines.postgres import Tx
from stead.shared.errors import QuotaExceeded
from stead.shared.ids import new_id

PERIOD = timedelta(days=1)
PER_ACCOUNT_AND_RECIPIENT = 5
PER_RECIPIENT = 20
"""From all accounts together. It does not apply to the address with which an account signed up, so that
strangers cannot keep its verification from being sent."""


class EmailsExhausted(QuotaExceeded):
    code = "quota.emails"
    message = "No more email can be sent today: {reason}."
    remedy = "Try again tomorrow. Invites also work without an email address: send the token yourself."


async def count_email(tx: Tx, account: str, recipient: str, *, is_own: bool = False) -> None:
    """Count an email that the account causes. `is_own` if it goes to the address of the account itself."""
    limit = int(
        await tx.value(
            "select p.max_emails_per_day from accounts a join plans p on p.name = a.plan where a.id = $1"
            " for no key update of a",
            account,
        )
    )
    hashed = sha256(recipient.lower().encode()).digest()
    since = tx.now - PERIOD
    mine = "select count(*) from sent_emails where account_id = $1 and sent_at > $2"
    if int(await tx.value(mine, account, since)) >= limit:
        raise EmailsExhausted(reason=f"the plan allows {limit} a day")
    if int(await tx.value(f"{mine} and recipient = $3", account, since, hashed)) >= PER_ACCOUNT_AND_RECIPIENT:
        raise EmailsExhausted(reason=f"you sent {PER_ACCOUNT_AND_RECIPIENT} to this address")
    if not is_own:
        await _require_room_for_recipient(tx, hashed)
    await tx.run(
        "insert into sent_emails (id, account_id, recipient, sent_at) values ($1, $2, $3, $4)",
        *(new_id("mail"), account, hashed, tx.now),
    )


async def _require_room_for_recipient(tx: Tx, hashed: bytes) -> None:
    await tx.value("select pg_advisory_xact_lock(hashtext('mail.recipient'), hashtext($1))", hashed.hex())
    sent = await tx.value(
        "select count(*) from sent_emails where recipient = $1 and sent_at > $2", hashed, tx.now - PERIOD
    )
    if int(sent) >= PER_RECIPIENT:
        raise EmailsExhausted(reason="this address received too many")


async def delete_old_counts(tx: Tx) -> int:
    return await tx.run(
        "delete from sent_emails where id in (select id from sent_emails where sent_at < $1 limit 1000)",
        tx.now - PERIOD,
    )
