"""How much more disk space each node can promise to sites. Null for a node that has not reported it."""

from alembic import op

revision, down_revision = "0024", "0023"

STATEMENTS = ["alter table nodes add column room_mb bigint"]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
