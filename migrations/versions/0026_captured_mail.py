"""What copies of production tried to send."""

from alembic import op

revision, down_revision = "0026", "0025"

STATEMENTS = (
    """
    create table captured_mails (
      id text primary key,
      env_id text not null references environments (id) on delete cascade,
      node_key text not null,
      captured_at timestamptz not null,
      content bytea not null,
      unique (env_id, node_key)
    )
    """,
    "create index captured_mails_of_environment on captured_mails (env_id, id desc)",
    "create index captured_mails_by_age on captured_mails (captured_at)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
