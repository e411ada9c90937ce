"""Jobs that the platform starts itself do not count as jobs of their owner."""

from alembic import op

revision, down_revision = "0014", "0013"

STATEMENTS = [
    "alter table jobs add column by_platform boolean not null default false",
    "create index jobs_of_platform on jobs (owner) where by_platform and status = 'queued'",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
