"""Locks that keep a release, and tokens for new passwords."""

from alembic import op

revision, down_revision = "0035", "0032"

STATEMENTS = [
    "alter table environments add column lock_reason text, add column locked_at timestamptz",
    """
    create table password_resets (
      token_hash bytea primary key,
      account_id text collate "C" not null references accounts (id) on delete cascade,
      email text not null,
      created_at timestamptz not null,
      expires_at timestamptz not null
    )
    """,
    """
    create table password_reset_requests (
      id text collate "C" primary key,
      email text not null,
      created_at timestamptz not null
    )
    """,
    "create unique index password_resets_of_account on password_resets (account_id)",
    "create index password_resets_by_expiry on password_resets (expires_at)",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
