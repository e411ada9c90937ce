"""Plans, accounts, sessions, API keys, idempotency records, outdated subjects."""

from alembic import op

revision, down_revision = "0001", None

STATEMENTS = [
    """
    create table plans (
      name text primary key,
      label text not null,
      max_sites int not null,
      max_environments int not null,
      max_branches_per_site int not null,
      max_concurrent_jobs int not null,
      max_storage_gb int not null,
      rate_read int not null check (rate_read > 0),
      rate_write int not null check (rate_write > 0),
      rate_create int not null check (rate_create > 0),
      rate_ceiling int not null check (rate_ceiling > 0)
    )
    """,
    """
    insert into plans values
      ('free', 'Free', 1, 3, 2, 1, 1, 1000, 100, 5, 5000),
      ('pro', 'Pro', 5, 15, 10, 4, 25, 3000, 600, 120, 20000),
      ('business', 'Business', 100, 500, 50, 16, 500, 10000, 2000, 600, 100000)
    """,
    """
    create table accounts (
      id text collate "C" primary key,
      email text not null,
      name text not null,
      password_hash text not null,
      plan text not null references plans default 'free',
      default_team_id text collate "C",
      billing_cc_email text,
      created_at timestamptz(3) not null
    )
    """,
    "create unique index accounts_by_email on accounts (lower(email))",
    """
    create table sessions (
      id text collate "C" primary key,
      account_id text collate "C" not null references accounts on delete cascade,
      secret_hash bytea not null unique,
      created_at timestamptz(3) not null,
      last_used_at timestamptz(3) not null,
      revoked_at timestamptz(3)
    )
    """,
    "create index sessions_by_account on sessions (account_id)",
    """
    create table api_keys (
      id text collate "C" primary key,
      account_id text collate "C" not null references accounts on delete cascade,
      name text,
      mode text not null check (mode in ('live', 'test')),
      last4 text not null,
      scopes text[] not null,
      pin_type text check (pin_type in ('site', 'environment', 'project', 'team')),
      pin_id text collate "C",
      ip_allowlist text[] not null,
      expires_at timestamptz(3) not null,
      last_used_at timestamptz(3),
      revoked_at timestamptz(3),
      created_at timestamptz(3) not null,
      check ((pin_type is null) = (pin_id is null))
    )
    """,
    "create index api_keys_by_account on api_keys (account_id, id)",
    """
    create table api_key_secrets (
      hash bytea primary key,
      key_id text collate "C" not null references api_keys on delete cascade,
      valid_until timestamptz(3)
    )
    """,
    "create unique index api_key_secrets_current on api_key_secrets (key_id) where valid_until is null",
    "create index api_key_secrets_by_key on api_key_secrets (key_id)",
    """
    create table idempotency_records (
      name bytea primary key,
      digest bytea not null,
      answer bytea not null,
      created_at timestamptz(3) not null
    )
    """,
    "create index idempotency_records_by_age on idempotency_records (created_at)",
    """
    create table outdated_subjects (
      id bigint generated always as identity primary key,
      subject text not null
    )
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
