"""Decides which list each node must have: who may enter which environment of a site."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

import msgspec

from stead.control.access import store
from stead.control.access.rules import COMMANDERS, EnteredEnvironment, StoredKey, StoredPassword
from stead.control.access.store import DueList
from stead.control.engines.postgres import Tx
from stead.protocol.commands import DriverSetName
from stead.protocol.work.access import AccessKey, AccessPassword, DatabasePassword, SetAccess

_read = msgspec.msgpack.Decoder(SetAccess).decode
_Password = TypeVar("_Password", AccessPassword, DatabasePassword)


async def update_lists(tx: Tx, site: str) -> None:
    """Compare the lists of a site with what they should be, and store those that must be delivered.

    Keys and passwords whose owner may not have them any more are removed; those of a suspended account stay,
    but are on no list. A node that does not host an
    environment any more gets an empty list for it, also if it was lost and comes back later.
    """
    await store.lock_lists(tx, site)
    # Before anything is read: a change that commits from now on is handled once more.
    await store.forget_changes(tx, site)
    await store.remove_outlived(tx, site)
    suspended = await store.list_suspended_holders(tx, site)
    keys = [each for each in await store.list_keys(tx, site) if each.account_id not in suspended]
    passwords = [each for each in await store.list_passwords(tx, site) if each.account_id not in suspended]
    stored = {(each.env_id, each.node_id): each for each in await store.lists_of_site(tx, site)}
    for env in await store.list_environments(tx, site):
        assert env.node_id is not None  # noqa: S101 - only those on a node are listed
        before = stored.pop((env.id, env.node_id), None)
        wanted, valid_until = _build_list(env, keys, passwords)
        if _opens_nothing(wanted) and (before is None or (before.is_delivered and _is_empty(before.content))):
            await store.remove_list(tx, env.id, env.node_id)
            continue
        content = msgspec.msgpack.encode(wanted)
        if before is None or before.content != content:
            driver: DriverSetName = "simulator" if env.is_test else "live"
            await store.put_list(tx, site, env.id, env.node_id, driver, content, valid_until)
        else:
            await store.set_validity(tx, env.id, env.node_id, valid_until)
    for former in stored.values():
        await _close_list(tx, site, former)


async def _close_list(tx: Tx, site: str, former: store.StoredList) -> None:
    if not _is_empty(former.content):
        empty = SetAccess(0, _read(former.content).user)
        content = msgspec.msgpack.encode(empty)
        await store.put_list(tx, site, former.env_id, former.node_id, former.driver, content, None)
    elif former.is_delivered:
        await store.remove_list(tx, former.env_id, former.node_id)


def read_work(due: DueList) -> SetAccess:
    return msgspec.structs.replace(_read(due.content), generation=due.generation)


def _is_empty(content: bytes) -> bool:
    return _opens_nothing(_read(content))


def _opens_nothing(wanted: SetAccess) -> bool:
    return not wanted.keys and wanted.password is None and wanted.database is None


def _build_list(
    env: EnteredEnvironment, keys: Sequence[StoredKey], passwords: Sequence[StoredPassword]
) -> tuple[SetAccess, datetime | None]:
    """The list, without its generation, and when the first entry of it expires."""
    if not env.is_open:
        return SetAccess(0, env.user), None
    own = {each.kind: each for each in passwords if each.env_id == env.id}
    sftp, database = own.get("sftp"), own.get("database")
    times = [*(key.expires_at for key in keys), *(password.expires_at for password in own.values())]
    return SetAccess(
        0,
        env.user,
        tuple(_build_key(key) for key in keys),
        None if sftp is None else _build_password(AccessPassword, sftp),
        None if database is None else _build_password(DatabasePassword, database),
    ), min((time for time in times if time is not None), default=None)


def _build_key(key: StoredKey) -> AccessKey:
    return AccessKey(
        key.id,
        key.account_id,
        key.fingerprint,
        key.public_key,
        key.may_run_commands and key.role in COMMANDERS,
        _timestamp(key.expires_at),
    )


def _build_password(made: type[_Password], password: StoredPassword) -> _Password:
    return made(password.id, password.account_id, password.hash, _timestamp(password.expires_at))


def _timestamp(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
