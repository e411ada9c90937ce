"""Jobs that may run next to others of the same environment, such as commands."""

from alembic import op

revision, down_revision = "0025", "0024"


def upgrade() -> None:
    op.execute("alter table jobs add column parallel smallint not null default 1 check (parallel >= 1)")
