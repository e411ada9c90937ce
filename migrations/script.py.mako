"""${message}."""

from alembic import op

revision, down_revision = ${repr(up_revision)}, ${repr(down_revision)}

STATEMENTS: list[str] = []


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
