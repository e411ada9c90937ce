"""Who may enter which environment, in a table that survives every restart.

The control plane sends a complete list for an environment whenever something changes that matters for it: a
key, a membership, the status of the site. Each list has a generation, so one that was delayed replaces
nothing. With the control plane down, the last list counts; what expires, expires.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

import msgspec

from stead.node.sqlite import create_once, open_database, transaction
from stead.protocol.work.access import AccessKey, AccessPassword, DatabasePassword, SetAccess

VERSION = 1
KEEP_DAYS = 30
"""How long the generation of an empty list is kept. An order for a node is never older."""
_DAY = 86_400.0
_MAX_PASSWORD = 256

_TABLES = """
create table lists (
    environment text primary key,
    site text not null,
    user text unique,
    generation integer not null,
    content blob not null,
    changed_at real not null
) strict, without rowid
"""

Listener = Callable[[str], None]
"""Called with the environment whose list has changed."""


class AccessContent(msgspec.Struct, frozen=True):
    """What is stored of a list."""

    keys: tuple[AccessKey, ...] = ()
    password: AccessPassword | None = None
    database: DatabasePassword | None = None


_content = msgspec.msgpack.Decoder(AccessContent)


@dataclass(frozen=True)
class Admission:
    """That a credential opens an environment. It holds until the list changes or the credential expires:
    see `AccessTable.still_holds`."""

    environment: str
    site: str
    account: str
    """The person, for the audit trail."""
    credential: str
    """The id of the key or of the password."""
    fingerprint: str
    """Of the key; empty for a password."""
    may_run_commands: bool
    """And open a shell. Without: only file transfers, and the database for a key."""

    @property
    def is_password(self) -> bool:
        return not self.fingerprint


class AccessTable:
    def __init__(self, file: Path, *, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._listeners: list[Listener] = []
        self._database = open_database(file)
        create_once(self._database, _TABLES, VERSION)

    def close(self) -> None:
        self._database.close()

    def add_listener(self, listener: Listener) -> Callable[[], None]:
        """Have the listener called after each change, in the event loop. Returns a function that ends it.
        What expires is not a change."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def replace(self, environment: str, site: str, wanted: SetAccess) -> bool:
        """Store the list, unless there is a newer one. Returns whether it was stored."""
        content = AccessContent(wanted.keys, wanted.password, wanted.database)
        # An empty list needs no name: another environment may have it by now.
        user = wanted.user if content != AccessContent() else None
        with transaction(self._database):
            known = self._database.execute(
                "select generation from lists where environment = ?", (environment,)
            ).fetchone()
            if known is not None and known[0] >= wanted.generation:
                return False
            # The name of an environment that was destroyed can be given to another one.
            self._database.execute(
                "update lists set user = null where user = ? and environment <> ?", (user, environment)
            )
            self._database.execute(
                "insert into lists (environment, site, user, generation, content, changed_at)"
                " values (?1, ?2, ?3, ?4, ?5, ?6) on conflict (environment) do update"
                " set site = ?2, user = ?3, generation = ?4, content = ?5, changed_at = ?6",
                (
                    *(environment, site, user, wanted.generation),
                    *(msgspec.msgpack.encode(content), self._now()),
                ),
            )
        for listener in tuple(self._listeners):
            listener(environment)
        return True

    def authorize(self, user: str, public_key: bytes) -> Admission | None:
        """Whether this key opens the environment with this user name. The caller must have proof that the
        client has the private key before it lets anyone in. `public_key` is in the format of the protocol."""
        found = self._find(user)
        if found is None:
            return None
        environment, site, content = found
        for key in content.keys:
            if compare_digest(key.public_key, public_key) and self._is_current(key.expires_at):
                return Admission(
                    environment, site, key.account, key.id, key.fingerprint, key.may_run_commands
                )
        return None

    def authorize_password(self, user: str, password: str) -> Admission | None:
        found = self._find(user)
        if found is None or len(password) > _MAX_PASSWORD:
            return None
        environment, site, content = found
        expected = content.password
        if (
            expected is None
            or not self._is_current(expected.expires_at)
            or not compare_digest(expected.sha256, sha256(password.encode("utf-8", "replace")).digest())
        ):
            return None
        return Admission(
            environment, site, expected.account, expected.id, fingerprint="", may_run_commands=False
        )

    def still_holds(self, admission: Admission) -> bool:
        """Whether a session with this admission may go on. Ask after each change, and every few seconds,
        because of credentials that expire."""
        row = self._database.execute(
            "select content from lists where environment = ? and site = ? and user is not null",
            (admission.environment, admission.site),
        ).fetchone()
        if row is None:
            return False
        content = _content.decode(row[0])
        if admission.is_password:
            password = content.password
            return (
                password is not None
                and password.id == admission.credential
                and self._is_current(password.expires_at)
            )
        return any(
            key.id == admission.credential
            and key.fingerprint == admission.fingerprint
            and key.account == admission.account
            and (key.may_run_commands or not admission.may_run_commands)
            and self._is_current(key.expires_at)
            for key in content.keys
        )

    def list_database_passwords(self, only: str | None = None) -> dict[str, DatabasePassword]:
        """Those that count now, by environment: of all, or of `only` one."""
        rows = self._database.execute(
            "select environment, content from lists"
            " where user is not null and (?1 is null or environment = ?1)",
            (only,),
        )
        found = ((environment, _content.decode(content).database) for environment, content in rows)
        return {
            environment: password
            for environment, password in found
            if password is not None and self._is_current(password.expires_at)
        }

    def remove_old(self) -> int:
        """Forget environments that nobody has entered for long because their list is empty."""
        before = self._now() - KEEP_DAYS * _DAY
        return self._database.execute(
            "delete from lists where user is null and changed_at < ?", (before,)
        ).rowcount

    def _find(self, user: str) -> tuple[str, str, AccessContent] | None:
        row = self._database.execute(
            "select environment, site, content from lists where user = ?", (user,)
        ).fetchone()
        return None if row is None else (row[0], row[1], _content.decode(row[2]))

    def _is_current(self, expires_at: float | None) -> bool:
        return expires_at is None or self._now() < expires_at
