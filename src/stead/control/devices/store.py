"""Rows of device authorizations. They are deleted when they expire."""

from stead.control.devices.rules import DeviceAuthorization, Status
from stead.control.engines.postgres import Tx
from stead.shared.ids import AccountId

_COLUMNS = (
    "id, user_code, machine_name, scopes, network, status, account_id, password_mark, key_id, redeemed_at,"
    " created_at, expires_at"
)


async def insert(tx: Tx, new: DeviceAuthorization, device_hash: bytes) -> bool:
    """False if the code of the person is in use."""
    sql = (
        "insert into device_authorizations (id, user_code, machine_name, scopes, network, status, created_at,"
        " expires_at, device_hash) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        " on conflict (user_code) do nothing"
    )
    facts = (new.id, new.user_code, new.machine_name, new.scopes, new.network, new.status)
    return await tx.run(sql, *facts, new.created_at, new.expires_at, device_hash) == 1


async def find_pending(tx: Tx, user_code: str) -> DeviceAuthorization | None:
    return await tx.one(
        DeviceAuthorization,
        f"select {_COLUMNS} from device_authorizations"  # noqa: S608
        " where user_code = $1 and status = 'pending' and expires_at > $2",
        *(user_code, tx.now),
    )


async def lock(tx: Tx, user_code: str) -> DeviceAuthorization | None:
    """In any state, until the transaction ends."""
    return await tx.one(
        DeviceAuthorization,
        f"select {_COLUMNS} from device_authorizations"  # noqa: S608
        " where user_code = $1 and expires_at > $2 for update",
        *(user_code, tx.now),
    )


async def lock_by_device(tx: Tx, device_hash: bytes) -> DeviceAuthorization | None:
    return await tx.one(
        DeviceAuthorization,
        f"select {_COLUMNS} from device_authorizations"  # noqa: S608
        " where device_hash = $1 and expires_at > $2 for update",
        *(device_hash, tx.now),
    )


async def decide(tx: Tx, id_: str, account: AccountId, password_mark: bytes, status: Status) -> None:
    await tx.run(
        "update device_authorizations set status = $4, account_id = $2, password_mark = $3 where id = $1",
        *(id_, account, password_mark, status),
    )


async def set_redeemed(tx: Tx, id_: str, key: str) -> None:
    await tx.run(
        "update device_authorizations set key_id = $2, redeemed_at = coalesce(redeemed_at, $3) where id = $1",
        *(id_, key, tx.now),
    )


async def delete_expired(tx: Tx, limit: int) -> int:
    return await tx.run(
        "delete from device_authorizations where id in"
        " (select id from device_authorizations where expires_at <= $1 limit $2)",
        *(tx.now, limit),
    )
