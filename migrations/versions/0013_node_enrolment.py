"""Nodes are enrolled by the operator, with a region, a public key and the permission to build. Jobs know the
nodes that were asked to work for them."""

from alembic import op

revision, down_revision = "0013", "0012"

STATEMENTS = [
    """
    alter table nodes
      add column public_key bytea check (octet_length(public_key) = 32),
      add column may_build boolean not null default false,
      alter column last_seen_at drop not null,
      alter column version set default '',
      alter column capacity set default 0
    """,
    # A node that built before may go on; it gets no work until the operator has added its public key.
    "update nodes set may_build = builders <> '{}'",
    # Null for the jobs that exist already: nobody recorded who was asked.
    "alter table jobs add column nodes text[]",
    "alter table jobs alter column nodes set default '{}'",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
