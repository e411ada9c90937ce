"""Passwords for databases, which schema an environment uses, and what releases require of PHP."""

from alembic import op

revision, down_revision = "0030", "0028"

STATEMENTS = [
    "alter table environments add column dataset text not null default ''",
    # A dataset is named after the job that made it. A push of files leaves the schema alone.
    """
    update environments e set dataset = right(latest.id, 14)
    from (
      select distinct on (env_id) env_id, id from (
        select j.id, coalesce(p.id, j.params ->> 'environment') as env_id
        from jobs j join sites s on s.id = j.site_id and s.runtime = 'cms'
        left join environments p
          on p.site_id = j.site_id and p.type = 'production' and j.type = 'environment.push'
        where j.status = 'succeeded' and (
          j.type in ('environment.clone', 'environment.create', 'environment.refresh', 'environment.reset')
          or (j.type = 'environment.push' and j.params ->> 'push' in ('db', 'full'))
        )
      ) made order by env_id, id desc
    ) latest
    where e.id = latest.env_id
    """,
    "alter table access_passwords add column kind text not null default 'sftp'",
    "alter table access_passwords alter column kind drop default",
    "alter table access_passwords rename column sha256 to hash",
    "alter table access_passwords drop constraint access_passwords_pkey",
    "alter table access_passwords add primary key (env_id, kind)",
    # What the files of Composer in a release require of PHP.
    "alter table artifacts add column php jsonb not null default '[]'",
    # A dry run is no job any more, and must not become a switch.
    """
    update jobs set cancel_requested_at = now() where type = 'site.config_apply'
    and status in ('queued', 'running') and cancel_requested_at is null and params ->> 'dry_run' = 'true'
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
