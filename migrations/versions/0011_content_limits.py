"""Unpacked sizes of layers, declared sizes of uploads, and nodes that are short of disk space."""

from alembic import op

revision, down_revision = "0011", "0010"

STATEMENTS = [
    "alter table uploads add column size bigint not null default 0 check (size >= 0)",
    "alter table blobs add column unpacked_size bigint not null default 0 check (unpacked_size >= 0)",
    # What builders reported about layers that exist already.
    """
    update blobs set unpacked_size = reported.bytes from (
      select a.layer_digest, max((b.facts ->> 'bytes')::bigint) as bytes
      from artifacts a join builds b on b.id = a.build_id
      where (b.facts ->> 'bytes')::bigint > 0 group by a.layer_digest
    ) reported where reported.layer_digest = blobs.digest
    """,
    "alter table nodes add column short_of_space boolean not null default false",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
