"""How many environments the operator allows a node, and where its edge is. Nodes that are enrolled
already keep the capacity that they have reported; their next heartbeat names the address."""

from alembic import op

revision, down_revision = "0023", "0022"

STATEMENTS = [
    "alter table nodes add column max_capacity int not null default 100",
    "alter table nodes add column edge_address text",
    "update nodes set max_capacity = greatest(capacity, max_capacity)",
    "alter table nodes add check (max_capacity >= 0)",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
