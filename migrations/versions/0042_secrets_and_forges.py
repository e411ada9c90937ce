"""Secrets of environments."""

from alembic import op

revision, down_revision = "0042", "0035"

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
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
