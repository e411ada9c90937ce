"""Owners take turns when certificates are issued, and order a limited number of them."""

from alembic import op

revision, down_revision = "0046", "0045"

STATEMENTS = [
    "create index certificates_leased on certificates (lease_until) where lease_until is not null",
    """
    create table certificate_orders (
      owner text collate "C" not null,
      placed_at timestamptz(3) not null
    )
    """,
    "create index certificate_orders_of_owner on certificate_orders (owner, placed_at)",
    "create index certificate_orders_by_age on certificate_orders (placed_at)",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
