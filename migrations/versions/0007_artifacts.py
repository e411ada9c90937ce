"""Uploads, builds, artifacts and their blobs, deployments, signing keys; what nodes can build."""

from alembic import op

revision, down_revision = "0007", "0006"

STATEMENTS = [
    "alter table nodes add column builders text[] not null default '{}'",
    """
    create table uploads (
      id text collate "C" primary key,
      site_id text collate "C" not null references sites on delete cascade,
      created_at timestamptz(3) not null,
      expires_at timestamptz(3) not null
    )
    """,
    "create index uploads_by_site on uploads (site_id)",
    "create index uploads_by_end on uploads (expires_at)",
    """
    create table builds (
      id text collate "C" primary key,
      site_id text collate "C" not null references sites on delete cascade,
      env_id text collate "C" not null references environments on delete cascade,
      job_id text collate "C",
      builder text not null,
      status text not null default 'queued' check (status in ('queued', 'running', 'succeeded', 'failed')),
      source text not null,
      ref text,
      commit text,
      author text,
      message text,
      auto_deploy boolean not null default false,
      node_id text collate "C",
      staged boolean not null default false,
      facts jsonb,
      manifest bytea,
      config bytea,
      envelope bytea,
      key_id text,
      artifact_id text collate "C",
      error text,
      created_at timestamptz(3) not null,
      started_at timestamptz(3),
      finished_at timestamptz(3),
      check (num_nulls(manifest, config, envelope, key_id) in (0, 4)),
      check ((status in ('succeeded', 'failed')) = (finished_at is not null)),
      check (status <> 'succeeded' or artifact_id is not null)
    )
    """,
    "create index builds_by_environment on builds (env_id, id)",
    "create index builds_by_site on builds (site_id)",
    "create index builds_staged on builds (finished_at) where staged and finished_at is not null",
    """
    create table signing_keys (
      id text collate "C" primary key,
      public bytea not null,
      sealed bytea not null,
      created_at timestamptz(3) not null,
      retired_at timestamptz(3)
    )
    """,
    "create unique index signing_keys_current on signing_keys ((true)) where retired_at is null",
    """
    create table artifacts (
      id text collate "C" primary key,
      site_id text collate "C" not null references sites on delete cascade,
      digest text collate "C" not null,
      serve_model text not null check (serve_model in ('container', 'static', 'wasm')),
      manifest bytea not null,
      config bytea not null,
      envelope bytea not null,
      key_id text collate "C" not null,
      layer_digest text collate "C" not null,
      layer_size bigint not null,
      ref text,
      commit text,
      build_id text collate "C",
      created_at timestamptz(3) not null,
      built_at timestamptz(3) not null,
      unique (site_id, digest)
    )
    """,
    "create index artifacts_by_site on artifacts (site_id, id)",
    "create index artifacts_by_age on artifacts (built_at)",
    """
    create table blobs (
      digest text collate "C" primary key,
      size bigint not null,
      held_until timestamptz(3) not null
    )
    """,
    """
    create table artifact_blobs (
      artifact_id text collate "C" not null references artifacts on delete cascade,
      digest text collate "C" not null references blobs,
      primary key (artifact_id, digest)
    )
    """,
    "create index artifact_blobs_by_digest on artifact_blobs (digest)",
    """
    create table deployments (
      id text collate "C" primary key,
      site_id text collate "C" not null references sites on delete cascade,
      env_id text collate "C" not null references environments on delete cascade,
      job_id text collate "C",
      artifact_id text collate "C" not null,
      digest text collate "C" not null,
      ref text,
      commit text,
      kind text not null check (kind in ('deploy', 'promote', 'rollback', 'clone', 'refresh', 'push')),
      from_id text collate "C",
      status text not null default 'pending'
        check (status in ('pending', 'deploying', 'live', 'failed', 'superseded')),
      reason text,
      switched boolean not null default false,
      release_before text,
      created_at timestamptz(3) not null,
      deployed_at timestamptz(3),
      current_since timestamptz(3),
      check ((status = 'live') = (current_since is not null)),
      check (status not in ('live', 'superseded') or deployed_at is not null)
    )
    """,
    "create index deployments_by_environment on deployments (env_id, id)",
    "create index deployments_by_artifact on deployments (artifact_id)",
    "create index deployments_by_site on deployments (site_id)",
    "create unique index deployments_live on deployments (env_id) where status = 'live'",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
