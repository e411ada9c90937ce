"""What a builder reports about a layer counts only for the artifact that it has built.

`blobs.unpacked_size` stays, because programs of the version before read it until they are replaced.
"""

from alembic import op

revision, down_revision = "0045", "0044"

STATEMENTS = [
    """
    alter table artifact_blobs
      add column unpacked_size bigint not null default 0 check (unpacked_size >= 0)
    """,
    """
    update artifact_blobs u set unpacked_size = b.unpacked_size from blobs b
    where b.digest = u.digest and b.unpacked_size > 0
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
