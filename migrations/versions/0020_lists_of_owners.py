"""Indexes for the lists and limits of an owner; ended jobs are removed after a while."""

from alembic import op

revision, down_revision = "0020", "0019"

STATEMENTS = [
    "create index sites_by_owner on sites (coalesce(team_id, account_id), id)",
    "create index jobs_open_by_owner on jobs (owner) where status in ('queued', 'running')",
    # What marks sites and environments as reachable again looks only at those that are not.
    "create index sites_failed on sites (id) where status = 'failed'",
    "create index environments_failed on environments (id) where status = 'failed'",
    # The collection of artifacts walks through them by id.
    "drop index artifacts_by_age",
    # A transaction that removes old jobs says so. Everything else still meets the error.
    """
    create or replace function keep_finished_jobs() returns trigger language plpgsql as $$
    begin
      if tg_op = 'TRUNCATE' then
        raise exception 'finished jobs are not truncated' using errcode = 'P0001';
      end if;
      if tg_op = 'DELETE' and old.id < current_setting('stead.remove_jobs_before', true) then
        return old;
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
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
