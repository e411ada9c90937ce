"""Repositories of sites, their snapshots, and when a site is due for the next one."""

from alembic import op

revision, down_revision = "0031", "0030"

STATEMENTS = [
    """
    create table repositories (
      site_id text primary key references sites (id),
      password bytea not null,
      created_at timestamptz not null,
      initializing_until timestamptz,
      initialized_at timestamptz,
      checked_at timestamptz,
      stored_bytes bigint not null default 0 check (stored_bytes >= 0)
    )
    """,
    """
    create table snapshots (
      id text primary key,
      site_id text not null references sites (id),
      env_id text not null references environments (id),
      job_id text not null unique,
      kind text not null check (kind in
        ('scheduled', 'on_demand', 'before_push', 'before_restore', 'before_switch', 'site_deleted')),
      status text not null check (status in ('taking', 'kept', 'failed')),
      runtime text not null,
      artifact_id text references artifacts (id) on delete set null,
      document jsonb not null,
      full_check boolean not null,
      engine text not null default '',
      restic_id text,
      manifest_digest text,
      size_bytes bigint not null default 0 check (size_bytes >= 0),
      added_bytes bigint not null default 0 check (added_bytes >= 0),
      taken_at timestamptz not null,
      verified_at timestamptz,
      synced_at timestamptz,
      expires_at timestamptz,
      retention_reason text,
      check (status <> 'kept' or (restic_id is not null and manifest_digest is not null))
    )
    """,
    "create index snapshots_of_site on snapshots (site_id, id desc) where status = 'kept'",
    "create index snapshots_of_repository on snapshots (site_id, id)",
    "create index sites_by_recovery on sites (recoverable_until) where status = 'deleted'",
    "create index snapshots_in_progress on snapshots (id) where status <> 'kept'",
    "create index snapshots_of_artifact on snapshots (artifact_id) where artifact_id is not null",
    """
    create table backup_schedules (
      site_id text primary key references sites (id),
      due_at timestamptz not null,
      last_status text check (last_status in ('succeeded', 'failed')),
      last_reason text,
      last_ended_at timestamptz,
      since timestamptz not null,
      mailed_at timestamptz
    )
    """,
    "create index backup_schedules_by_due on backup_schedules (due_at)",
    """
    create table backup_plans (
      plan text primary key references plans (name) on update cascade on delete cascade,
      daily_days int not null check (daily_days >= 1),
      weekly int not null check (weekly >= 0),
      monthly int not null check (monthly >= 0)
    )
    """,
    """
    insert into backup_plans (plan, daily_days, weekly, monthly)
    select name, case name when 'free' then 7 when 'pro' then 14 else 30 end, 4, 6 from plans
    """,
    # It was moved from a node that is lost for good, and its files and rows are on no node.
    "alter table environments add column data_lost boolean not null default false",
    "alter table deployments drop constraint deployments_kind_check",
    "alter table deployments add constraint deployments_kind_check check (kind in"
    " ('deploy', 'promote', 'rollback', 'clone', 'refresh', 'push', 'restore'))",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
