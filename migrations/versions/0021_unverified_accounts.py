"""How to find the accounts that were never verified, and what refers to an account that is deleted."""

from alembic import op

revision, down_revision = "0021", "0020"

STATEMENTS = [
    "create index accounts_unverified on accounts (created_at) where email_verified_at is null",
    "create index team_invites_by_sender on team_invites (invited_by)",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
