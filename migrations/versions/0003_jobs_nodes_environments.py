"""Jobs, events, nodes, environments; the domain of a deleted site is free again."""

from alembic import op

revision, down_revision = "0003", "0002"

STATEMENTS = [
    """
    create table nodes (
      id text collate "C" primary key,
      region text not null,
      capacity int not null check (capacity >= 0),
      version text not null,
      draining boolean not null default false,
      last_seen_at timestamptz(3) not null,
      created_at timestamptz(3) not null
    )
    """,
    "alter table sites drop constraint sites_domain_key",
    "create unique index sites_by_domain on sites (domain) where status <> 'deleted'",
    """
    create table environments (
      id text collate "C" primary key,
      site_id text collate "C" not null references sites on delete cascade,
      type text not null check (type in ('production', 'staging', 'branch')),
      branch text,
      git_ref text,
      subdomain text not null unique,
      status text not null,
      node_id text collate "C" references nodes,
      last_active timestamptz(3),
      created_at timestamptz(3) not null,
      check ((type = 'branch') = (branch is not null))
    )
    """,
    "create unique index environments_single on environments (site_id, type) where type <> 'branch'",
    "create unique index environments_by_branch on environments (site_id, branch) where type = 'branch'",
    "create index environments_by_node on environments (node_id)",
    """
    create table jobs (
      id text collate "C" primary key,
      type text not null,
      status text not null default 'queued' check (status in ('queued', 'running', 'succeeded', 'failed')),
      revision int not null default 1,
      site_id text collate "C" not null references sites,
      env_id text collate "C",
      owner text collate "C" not null,
      scope text not null,
      resource jsonb not null,
      params jsonb not null,
      result jsonb not null default '{}',
      error jsonb,
      created_at timestamptz(3) not null,
      dispatched_at timestamptz(3),
      cancel_requested_at timestamptz(3),
      cancel_sent_at timestamptz(3),
      finished_at timestamptz(3)
    )
    """,
    """
    create table job_steps (
      job_id text collate "C" not null references jobs,
      step text not null,
      primary key (job_id, step)
    )
    """,
    "create index jobs_by_site on jobs (site_id, id)",
    "create index jobs_open on jobs (id) where status in ('queued', 'running')",
    "create index jobs_open_by_site on jobs (site_id, id) where status in ('queued', 'running')",
    """
    create function keep_finished_jobs() returns trigger language plpgsql as $$
    begin
      if tg_op = 'TRUNCATE' then
        raise exception 'finished jobs never go away' using errcode = 'P0001';
      end if;
      if old.status in ('succeeded', 'failed') then
        raise exception 'job % is finished and never changes again', old.id using errcode = 'P0001';
      end if;
      if tg_op = 'DELETE' then
        return old;
      end if;
      new.revision := old.revision + 1;
      return new;
    end $$
    """,
    """
    create trigger jobs_finished before update or delete on jobs
      for each row execute function keep_finished_jobs()
    """,
    """
    create trigger jobs_kept before truncate on jobs
      for each statement execute function keep_finished_jobs()
    """,
    """
    create function tell_of_jobs() returns trigger language plpgsql as $$
    begin
      perform pg_notify('jobs', new.id);
      return null;
    end $$
    """,
    "create trigger jobs_told after insert or update on jobs for each row execute function tell_of_jobs()",
    """
    create table events (
      id text collate "C" primary key,
      type text not null,
      account_id text collate "C",
      team_id text collate "C",
      site_id text collate "C",
      env_id text collate "C",
      job_id text collate "C",
      data jsonb not null,
      created_at timestamptz(3) not null
    )
    """,
    "create index events_by_account on events (account_id, id) where account_id is not null",
    "create index events_by_team on events (team_id, id) where team_id is not null",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
