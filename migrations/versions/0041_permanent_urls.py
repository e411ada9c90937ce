"""The permanent host of each deployment."""

from alembic import op

revision, down_revision = "0041", "0035"

STATEMENTS = [
    "alter table deployments add column permanent_host text,"
    " add column permanent_ended boolean not null default false",
    "create unique index deployments_by_host on deployments (permanent_host)"
    " where permanent_host is not null",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
