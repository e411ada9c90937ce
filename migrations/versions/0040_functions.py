"""Functions and their versions; builds of a single file."""

from alembic import op

revision, down_revision = "0040", "0039"

STATEMENTS = [
    """
    create table functions (
      id text collate "C" primary key,
      site_id text collate "C" not null references sites on delete cascade,
      slug text collate "C" not null,
      display_name text not null,
      language text not null,
      bindings jsonb not null,
      env jsonb not null,
      secret_refs text[] not null,
      limits jsonb not null,
      route_path text not null default '',
      fresh_instances boolean not null default false,
      compatibility_date text collate "C" not null,
      source text,
      filename text,
      build_status text not null default ''
        check (build_status in ('', 'building', 'deploying', 'live', 'failed')),
      status_reason text,
      active_version_id text collate "C",
      served_version_id text collate "C",
      last_build_job_id text collate "C",
      last_artifact_id text collate "C",
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      deleted_at timestamptz(3),
      limited_at timestamptz(3)
    )
    """,
    "create index functions_by_site on functions (site_id, id)",
    "create index functions_deleted on functions (deleted_at) where deleted_at is not null",
    "create unique index functions_slug on functions (site_id, slug) where deleted_at is null",
    """
    create table function_versions (
      id text collate "C" primary key,
      function_id text collate "C" not null references functions on delete cascade,
      artifact_id text collate "C" not null,
      digest text collate "C" not null,
      created_at timestamptz(3) not null,
      deployed_at timestamptz(3)
    )
    """,
    "create index function_versions_by_function on function_versions (function_id, id)",
    "create index function_versions_by_artifact on function_versions (artifact_id)",
    'alter table builds add column function_id text collate "C", add column inline jsonb',
    "create index builds_by_function on builds (function_id) where function_id is not null",
    """
    create table function_state (
      env_id text collate "C" primary key,
      keys int not null default 0,
      bytes bigint not null default 0,
      granted bigint not null default 0,
      added_keys int not null default 0,
      added_bytes bigint not null default 0,
      counted_at timestamptz(3),
      orphaned_at timestamptz(3)
    )
    """,
    "alter table plans add column max_function_state_mb int not null default 64",
    """
    update plans set max_function_state_mb = case name when 'free' then 16 when 'pro' then 64
      when 'business' then 256 else max_function_state_mb end
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
