"""Changing the sealing key while the system runs: every sealed column is known, and is sealed again."""

import base64
import os

from stead.control import features
from stead.control.app import ControlPlane
from stead.control.artifacts import signing_keys
from stead.control.outbox.mail import Email, enqueue_email
from stead.control.sealed_columns import BATCH_SIZE, SealedColumn, count_outdated, reseal
from stead.control.sealing import Sealer
from tests import own_database, teams
from tests.client import Client
from tests.people import make_person

# The rotation changes every row, and other tests need theirs.
settings, plane, anonymous = own_database.settings, own_database.plane, own_database.anonymous

NOT_SEALED = {
    ("sessions", "secret_hash"),
    ("api_key_secrets", "hash"),
    ("team_invites", "token_hash"),
    ("email_verifications", "token_hash"),
    ("sign_ups", "token_hash"),
    ("password_resets", "token_hash"),
    ("environments", "lease_token_hash"),
    ("magic_links", "token_hash"),
    *(("device_authorizations", column) for column in ("device_hash", "password_mark")),
    ("access_passwords", "hash"),
    # Public keys, and hashes of passwords.
    ("access_lists", "content"),
    ("ssh_keys", "public_key"),
    ("sent_emails", "recipient"),
    ("hook_deliveries", "digest"),
    ("telemetry_chunks", "sha256"),
    ("nodes", "public_key"),
    ("signing_keys", "public"),
    *((table, column) for table in ("builds", "artifacts") for column in ("manifest", "config", "envelope")),
    # Versions of components, in a form that can be compared.
    ("component_versions", "key"),
    *(("vulnerability_ranges", column) for column in ("from_key", "to_key")),
    # Recorded responses are removed after a day, before an old key is.
    *(("idempotency_records", column) for column in ("name", "digest", "answer")),
}
"""Columns of bytes that are hashes, public, or short-lived."""


async def test_every_column_of_bytes_is_declared_as_sealed_or_known_not_to_be(plane: ControlPlane):
    declared = {(each.table, each.column) for each in features.sealed_columns() if not each.json_path}
    async with plane.database.reading() as tx:
        found = await tx.all(
            lambda table, column: (table, column),
            "select table_name, column_name from information_schema.columns"
            " where table_schema = 'public' and data_type = 'bytea'",
        )
    assert set(found) - NOT_SEALED == declared


async def test_a_column_with_more_values_than_a_batch_is_sealed_completely(plane: ControlPlane):
    old, new, _ = _sealers(plane)
    async with plane.database.transaction() as tx:
        for _ in range(BATCH_SIZE + 5):
            await enqueue_email(tx, old, Email("someone@example.com", "subject", "text"))
    mail = next(each for each in features.sealed_columns() if each.table == "outgoing_mail")
    assert await reseal(plane.database, new, mail) == BATCH_SIZE + 5
    async with plane.database.transaction() as tx:
        await tx.run("delete from outgoing_mail")


async def test_after_a_rotation_the_old_key_is_needed_no_more(plane: ControlPlane, anonymous: Client):
    old, new, only_new = _sealers(plane)
    person = await make_person(plane, anonymous)
    created = await person.session.post("/v1/webhook-endpoints", json={"url": "https://hook.example.com/"})
    assert created.status_code == 201, created.text
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        await enqueue_email(tx, old, Email("someone@example.com", "subject", "text"))
        await signing_keys.rotate(tx, old)
        secret = {"security": {"waf_partner_secret_key": _base64(old, f"waf partner of {site}")}}
        await tx.run(
            "insert into configurations (subject, site_id, settings, previous, changed_by)"
            " values ($1, $1, $2, '{}', 'job')",
            site,
            secret,
        )
    columns = features.sealed_columns()
    async with plane.database.reading() as tx:
        assert await count_outdated(tx, new, columns) >= 4

    resealed = sum([await reseal(plane.database, new, column) for column in columns])
    assert resealed >= 4
    async with plane.database.reading() as tx:
        assert await count_outdated(tx, new, columns) == 0
    for column in columns:
        await _opens(plane, only_new, column)
    assert sum([await reseal(plane.database, new, column) for column in columns]) == 0


def _sealers(plane: ControlPlane) -> tuple[Sealer, Sealer, Sealer]:
    """With the key of the installation, with a new key in front of it, and with the new key alone."""
    old, new = plane.settings.sealing_key, base64.b64encode(os.urandom(32)).decode()
    return Sealer.from_text(old), Sealer.from_text(f"{new},{old}"), Sealer.from_text(new)


def _base64(sealer: Sealer, context: str) -> str:
    return base64.b64encode(sealer.seal(b"the secret", context=context.encode())).decode()


async def _opens(plane: ControlPlane, sealer: Sealer, column: SealedColumn) -> None:
    async with plane.database.reading() as tx:
        rows = await tx.all(
            lambda key, sealed: (key, sealed),
            f"select {column.key}, {column.value} from {column.table} where {column.value} is not null",
        )
    for key, sealed in rows:
        sealer.open(sealed, context=column.context(key))
