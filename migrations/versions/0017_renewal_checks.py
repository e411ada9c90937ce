"""When to ask the certificate authority next for the renewal time of a certificate."""

from alembic import op

revision, down_revision = "0017", "0016"

STATEMENTS = [
    "alter table certificates add column renewal_check_at timestamptz(3) not null default now()",
    """
    create index certificates_renewal_check on certificates (renewal_check_at)
      where state = 'valid' and stage = 'settled'
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
