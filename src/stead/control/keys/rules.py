"""What an API key is and what may happen to it. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from stead.control.http.principal import AccountAttributes, Mode, Pin, PinType
from stead.shared.errors import Conflict, Forbidden, NotFound
from stead.shared.ids import AccountId, KeyId
from stead.shared.secrets import Family

GRACE = timedelta(hours=24)


class VisibleKey(msgspec.Struct, frozen=True):
    """A key of the caller's account that the caller's own pin and mode let it see."""

    id: KeyId
    name: str | None
    mode: Mode
    last4: str
    scopes: list[str]
    pin_type: PinType | None
    pin_id: str | None
    ip_allowlist: list[str]
    expires_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
    created_at: datetime
    account_id: AccountId

    @property
    def pin(self) -> Pin | None:
        return Pin(self.pin_type, self.pin_id) if self.pin_type and self.pin_id else None


@dataclass(frozen=True, slots=True)
class KeyPrincipalRow:
    id: str
    account_id: AccountId
    scopes: list[str]
    mode: Mode
    pin_type: PinType | None
    pin_id: str | None
    ip_allowlist: list[str]
    expires_at: datetime
    revoked_at: datetime | None
    secret_until: datetime | None
    account: AccountAttributes


def family(mode: Mode) -> Family:
    return "stead_test" if mode == "test" else "stead_live"


class KeyNotFound(NotFound):
    code = "key.not_found"
    message = "There is no such API key."
    remedy = "List the keys this credential can see with `GET /v1/api-keys`."


class PinnedResourceNotFound(NotFound):
    code = "resource.not_found"
    message = "There is no such {type} to pin a key to."
    remedy = "Pin a key to a resource that the minting credential can see."


class KeyReachesFurther(Forbidden):
    code = "key.reaches_further"
    message = "The key may be used from addresses that this credential may not be used from."
    remedy = "Roll it with a session, or with a key that has no narrower `ip_allowlist`."


class KeyAlreadyRevoked(Conflict):
    code = "key.revoked"
    message = "The key was revoked, which is final."
    remedy = "Mint a new key."
