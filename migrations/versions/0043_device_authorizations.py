"""Devices without a browser that wait for a person to let them sign in."""

from alembic import op

revision, down_revision = "0043", "0042"

STATEMENTS = [
    """
    create table device_authorizations (
      id text collate "C" primary key,
      device_hash bytea not null unique,
      user_code text collate "C" not null unique,
      machine_name text not null,
      scopes text[] not null,
      network text not null,
      status text not null check (status in ('pending', 'approved', 'denied')),
      account_id text collate "C" references accounts (id) on delete cascade,
      password_mark bytea,
      key_id text collate "C" references api_keys (id) on delete cascade,
      redeemed_at timestamptz(3),
      created_at timestamptz(3) not null,
      expires_at timestamptz(3) not null
    )
    """,
    "create index device_authorizations_expired on device_authorizations (expires_at)",
    "create index device_authorizations_of_account on device_authorizations (account_id)",
    "create index device_authorizations_of_key on device_authorizations (key_id)",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
