"""The runtimes of nodes, claims on blobs that are being removed, versions of the edge records of sites."""

from alembic import op

revision, down_revision = "0016", "0015"

STATEMENTS = [
    # Null for a node that does not report its runtimes.
    "alter table nodes add column runtimes text[]",
    # Until then, a worker removes the blob from the object store.
    "alter table blobs add column removing_until timestamptz(3)",
    """
    create table edge_versions (
      site_id text collate "C" primary key references sites on delete cascade,
      version bigint not null
    )
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
