"""Secrets of environments, builds that are skipped because nothing has changed, and reports to forges."""

from alembic import op

revision, down_revision = "0038", "0037"

STATEMENTS = [
    """
    create table environment_secrets (
      id text collate "C" primary key,
      env_id text collate "C" not null references environments (id) on delete cascade,
      name text collate "C" not null,
      sealed bytea not null,
      size int not null,
      plain boolean not null,
      previews boolean not null,
      updated_at timestamptz not null,
      unique (env_id, name)
    )
    """,
    "alter table builds add column pushed boolean not null default false, add column inputs text,"
    " add column source_digest text, add column reuses text,"
    " add column skipped boolean not null default false",
    "alter table git_connections add column forge text, add column forge_token bytea,"
    " add column forge_repository text, add column forge_error text,"
    " add check ((forge is null) = (forge_token is null))",
    """
    create table commit_reports (
      build_id text collate "C" primary key references builds on delete cascade,
      site_id text collate "C" not null references sites on delete cascade,
      owner text collate "C" not null,
      sent text,
      attempts int not null default 0,
      due_at timestamptz(3) not null,
      created_at timestamptz(3) not null
    )
    """,
    "create index commit_reports_due on commit_reports (due_at)",
    "create index commit_reports_of_site on commit_reports (site_id)",
    """
    create table preview_comments (
      env_id text collate "C" primary key references environments on delete cascade,
      number bigint not null,
      comment bigint not null
    )
    """,
    # The token of one owner is not used for another one. The number of a comment is not used in another
    # repository.
    """
    create function forget_forge() returns trigger language plpgsql as $$
    begin
      if (old.account_id, old.team_id) is distinct from (new.account_id, new.team_id) then
        update git_connections
          set forge = null, forge_token = null, forge_repository = null, forge_error = null
          where site_id = new.id;
      end if;
      delete from preview_comments c using environments e where e.id = c.env_id and e.site_id = new.id;
      return null;
    end $$
    """,
    """
    create trigger sites_forge_forgotten after update of account_id, team_id, git_repo on sites for each row
      when ((old.account_id, old.team_id, old.git_repo) is distinct from
        (new.account_id, new.team_id, new.git_repo)) execute function forget_forge()
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
