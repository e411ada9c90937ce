"""Nodes report how many edge records do not fit in the memory of their nginx."""

from alembic import op

revision, down_revision = "0012", "0011"

STATEMENTS = ["alter table nodes add column records_skipped int not null default 0"]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
