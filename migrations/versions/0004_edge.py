"""What visitors meet: configuration, redirects, and the release of an environment."""

from alembic import op

revision, down_revision = "0004", "0003"

STATEMENTS = [
    "alter table environments add column release text",
    """
    create table configurations (
      subject text collate "C" primary key,
      site_id text collate "C" not null references sites on delete cascade,
      settings jsonb not null,
      previous jsonb not null,
      changed_by text collate "C" not null
    )
    """,
    "create index configurations_by_site on configurations (site_id)",
    """
    create table redirect_sets (
      site_id text collate "C" primary key references sites on delete cascade,
      rules jsonb not null,
      version text not null,
      lengths int[] not null,
      parts int not null,
      told int not null,
      previous jsonb not null,
      changed_by text collate "C" not null
    )
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
