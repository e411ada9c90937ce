"""What opens a site, what may go wrong with it, and where a sign-in link may lead. No I/O."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha1
from typing import Literal, get_args
from urllib.parse import unquote

from stead.control.exec.rules import RAW
from stead.control.sites.capabilities import CAPABILITIES
from stead.shared import secrets
from stead.shared.errors import Conflict, FieldInvalid, NotFound, RateLimited
from stead.shared.roles import MASK, Role

SCOPE, READ_SCOPE = "credentials:write", "credentials:read"
LIFETIME = timedelta(seconds=60)
LINKS_PER_MINUTE = 10
"""Of one environment."""

_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*")
_MISLEADING = re.compile(r"^/[/\\]|[\x00-\x20\x7f\\]")
"""At the beginning of another host, or read differently by different programs."""
_DECODINGS = 3

MAX_KEYS = 50
"""Of a site."""

CredentialKind = Literal["sftp", "database"]
KINDS: tuple[CredentialKind, ...] = get_args(CredentialKind)

HOLDERS = [role.value for role in Role if "credentials:write" in MASK[role]]
"""The roles in a team whose members may have keys and passwords."""
COMMANDERS = [role.value for role in Role if RAW in MASK[role]]
"""The roles whose members may run commands."""

OPEN_SITES = ["running", "failed", "awaiting_push"]
OPEN_ENVIRONMENTS = ["running", "failed"]
"""The statuses in which a site and its environment can be entered. One that failed can be repaired."""
ENTERED_RUNTIMES = [runtime for runtime, found in CAPABILITIES.items() if found["exec"].supported]
"""The runtimes whose environments have something to enter."""


class MagicLinksExceeded(RateLimited):
    code = "rate_limit.magic_links"
    message = "The environment already got {limit} sign-in links in the last minute."
    remedy = "Wait as long as `Retry-After` says, or use one of the links."

    def __init__(self) -> None:
        super().__init__(limit=LINKS_PER_MINUTE)
        self.headers = {"Retry-After": str(int(LIFETIME.total_seconds()))}


class MagicLinksDisabled(Conflict):
    code = "magic_link.disabled"
    message = "Sign-in links are switched off for the environment."
    remedy = (
        "Sign in at `/wp-login.php`, or set `security.magic_links_enabled` to true in the configuration of"
        " the site or of the environment."
    )


class PasswordNotReset(Conflict):
    code = "access.password_not_reset"
    message = "The password was not changed: {reason}"
    remedy = "The earlier password is still valid. Read the reason, and reset the password again."


def hash_password(kind: CredentialKind, password: str) -> bytes:
    """It was generated and cannot be guessed, so a fast hash is safe. MariaDB and its clients use the hash
    of a hash."""
    if kind == "database":
        return sha1(sha1(password.encode()).digest()).digest()  # noqa: S324
    return secrets.digest(password)


def require_path(text: str) -> None:
    """Refuse everything but a path of the same host, with an optional query."""
    refused = _PATH.fullmatch(text) is None
    for _ in range(_DECODINGS):
        refused = refused or _MISLEADING.search(text.partition("?")[0]) is not None
        text = unquote(text)
    if refused:
        raise FieldInvalid(
            param="redirect_to",
            reason="It must be a path of the site that begins with one slash, such as `/wp-admin/`.",
        )


@dataclass(frozen=True, slots=True)
class StoredKey:
    id: str
    account_id: str
    label: str
    type: str
    public_key: bytes
    fingerprint: str
    may_run_commands: bool
    created_at: datetime
    expires_at: datetime | None
    """When the membership of its owner ends."""
    role: Role
    """Of its owner."""


@dataclass(frozen=True, slots=True)
class StoredPassword:
    env_id: str
    id: str
    account_id: str
    hash: bytes
    """As whatever checks it needs it: see `hash_password`."""
    created_at: datetime
    expires_at: datetime | None
    kind: CredentialKind = "sftp"


@dataclass(frozen=True, slots=True)
class EnteredEnvironment:
    """An environment of a site, as far as access to it is concerned."""

    id: str
    type: str
    branch: str | None
    subdomain: str
    node_id: str | None
    is_open: bool
    is_test: bool
    dataset: str

    @property
    def user(self) -> str:
        """The user name that selects it: the first label of its preview host."""
        return self.subdomain.partition(".")[0]


class CredentialKindUnknown(NotFound):
    code = "credential.not_found"
    message = "There is no such credential."
    remedy = (
        "Use `sftp` or `database`. SSH accepts keys only: replace them with"
        " `PUT /v1/sites/{site_id}/ssh-keys`."
    )
