"""Git: how a site is connected to its repository, the pushes that were heard, what of them is to be built."""

from alembic import op

revision, down_revision = "0009", "0008"

STATEMENTS = [
    "create index sites_with_repository on sites (id) where git_repo is not null",
    """
    create table git_connections (
      site_id text collate "C" primary key references sites on delete cascade,
      rules jsonb not null default '[]',
      hook_secret bytea,
      deploy_private bytea,
      deploy_public text,
      refs jsonb,
      hook_heard_at timestamptz(3),
      checked_at timestamptz(3),
      check_due_at timestamptz(3) not null,
      failures int not null default 0,
      last_error text,
      check ((deploy_private is null) = (deploy_public is null))
    )
    """,
    "create index git_connections_due on git_connections (check_due_at)",
    """
    create table hook_deliveries (
      site_id text collate "C" not null references sites on delete cascade,
      digest bytea not null,
      answer jsonb not null,
      heard_at timestamptz(3) not null,
      primary key (site_id, digest)
    )
    """,
    "create index hook_deliveries_by_age on hook_deliveries (heard_at)",
    """
    create table pushes (
      env_id text collate "C" primary key references environments on delete cascade,
      site_id text collate "C" not null references sites on delete cascade,
      branch text not null,
      commit text,
      serial bigint not null default 1,
      taken bigint not null default 0,
      job_id text collate "C",
      settled boolean not null default true,
      pushed_at timestamptz(3) not null,
      try_at timestamptz(3) not null,
      check (taken <= serial)
    )
    """,
    "create index pushes_open on pushes (try_at) where taken < serial or not settled",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
