"""Callers made out of nothing, for tests of what stands before any database."""

from datetime import UTC, datetime

from stead.control.http.principal import Principal, RateLimits
from stead.shared.ids import AccountId, new_id

TIGHT = RateLimits(read=600, write=4, create=3, ceiling=6)
"""Buckets that a test can empty."""


def keys_of_one_account(limits: RateLimits, count: int = 3) -> list[Principal]:
    account = AccountId(new_id("client"))
    return [
        Principal(
            kind="api_key",
            id=new_id("key"),
            account_id=account,
            email=f"{account}@example.com",
            scopes=("*",),
            allowed=frozenset(),
            mode="live",
            pin=None,
            networks=(),
            expires_at=datetime.max.replace(tzinfo=UTC),
            limits=limits,
            ceiling_owner=account,
        )
        for _ in range(count)
    ]
