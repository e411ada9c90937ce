"""The keys whose revocation ends a secret: a key that rolled another one has its new secret."""

from alembic import op

revision, down_revision = "0019", "0018"

STATEMENTS = [
    "alter table api_key_secrets add column depends_on text[] collate \"C\" not null default '{}'",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
