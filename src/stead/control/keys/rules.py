"""API keys: types and errors. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from stead.control.http.modes import ModeBound
from stead.control.http.principal import AccountAttributes, Mode, Pin, PinType
from stead.shared.errors import Conflict, Forbidden, NotFound
from stead.shared.ids import AccountId, KeyId
from stead.shared.secrets import Family

OLD_SECRET_LIFETIME = timedelta(hours=24)
"""How long the old secret of a rolled key works."""


class VisibleKey(msgspec.Struct, ModeBound, frozen=True):
    """A key of the caller's account that is visible with the caller's pin and mode."""

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
    depends_on: list[str]
    account: AccountAttributes


def family(mode: Mode) -> Family:
    return "stead_test" if mode == "test" else "stead_live"


class KeyNotFound(NotFound):
    code = "key.not_found"
    message = "The API key does not exist."
    remedy = "List the API keys that this credential can see with `GET /v1/api-keys`."


class PinnedResourceNotFound(NotFound):
    code = "resource.not_found"
    message = "The {type} to which the key should be pinned does not exist."
    remedy = "Pin the key to a resource that the creating credential can see."


class KeyReachesFurther(Forbidden):
    code = "key.reaches_further"
    message = "The `ip_allowlist` of the key allows addresses that this credential may not be used from."
    remedy = "Roll the key with a session, or with a key whose `ip_allowlist` includes these addresses."


class KeyAlreadyRevoked(Conflict):
    code = "key.revoked"
    message = "The API key is revoked. This cannot be undone."
    remedy = "Create a new API key."
