"""Permanent hosts of deployments; sign-ups that wait for confirmation; closed and suspended accounts."""

from alembic import op

revision, down_revision = "0037", "0036"

STATEMENTS = [
    "alter table deployments add column permanent_host text,"
    " add column permanent_ended boolean not null default false",
    "create unique index deployments_by_host on deployments (permanent_host)"
    " where permanent_host is not null",
    "alter table accounts add column closed_at timestamptz, add column erased_at timestamptz,"
    " add column suspended_at timestamptz, add column suspension_reason text",
    "create index accounts_closed on accounts (closed_at) where closed_at is not null and erased_at is null",
    """
    create table sign_ups (
      token_hash bytea primary key,
      account_id text collate "C" not null,
      email text not null,
      name text not null,
      password_hash text not null,
      usable boolean not null,
      network text not null,
      created_at timestamptz not null,
      expires_at timestamptz not null
    )
    """,
    "create index sign_ups_by_address on sign_ups (email, created_at)",
    "create index sign_ups_by_expiry on sign_ups (expires_at)",
    # The keys and passwords of a suspended account open nothing.
    """
    create function note_suspended_account() returns trigger language plpgsql as $$
    begin
      insert into access_changes (site_id)
        select site_id from ssh_keys where account_id = new.id
        union select site_id from access_passwords where account_id = new.id;
      return null;
    end $$
    """,
    """
    create trigger accounts_suspension_noted after update of suspended_at on accounts for each row
      when (old.suspended_at is distinct from new.suspended_at) execute function note_suspended_account()
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
