"""Certificates of hosts, and the accounts with certificate authorities."""

from alembic import op

revision, down_revision = "0005", "0004"

STATEMENTS = [
    """
    create table acme_accounts (
      directory text primary key,
      sealed_key bytea not null,
      uri text,
      created_at timestamptz(3) not null
    )
    """,
    """
    create table certificates (
      host text collate "C" primary key,
      site_id text collate "C" not null references sites,
      region text not null,
      state text not null default 'unconfigured'
        check (state in ('unconfigured', 'not_registered', 'pending', 'valid', 'expired')),
      stage text not null default 'wanted' check (stage in ('wanted', 'stored', 'told', 'settled')),
      error_code text,
      error text,
      ca text,
      chain text,
      sealed_key bytea,
      issued_at timestamptz(3),
      expires_at timestamptz(3),
      told_region text,
      served_since timestamptz(3),
      order_uri text,
      order_key bytea,
      challenge text,
      forgotten boolean not null default false,
      next_attempt_at timestamptz(3) not null,
      attempts int not null default 0,
      lease_holder text,
      lease_until timestamptz(3),
      created_at timestamptz(3) not null,
      check ((error_code is null) = (error is null)),
      check (num_nulls(ca, chain, sealed_key, issued_at, expires_at) in (0, 5)),
      check ((order_uri is null) = (order_key is null)),
      check ((lease_holder is null) = (lease_until is null)),
      check (state not in ('valid', 'expired') or chain is not null)
    )
    """,
    """
    insert into certificates (host, site_id, region, next_attempt_at, created_at)
    select domain, id, region, now(), now() from sites where mode = 'live' and status = 'running'
    """,
    "create index certificates_due on certificates (next_attempt_at)",
    "create index certificates_by_site on certificates (site_id)",
    "create index certificates_new on certificates (host) where state = 'unconfigured'",
    "create index certificates_by_end on certificates (expires_at) where state = 'valid'",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
