"""Who uses a repository alone, when it was maintained and rewritten, and what looked suspicious in it."""

from alembic import op

revision, down_revision = "0032", "0031"

STATEMENTS = [
    """
    alter table repositories
      add column holder text,
      add column held_until timestamptz,
      add column wanted_at timestamptz,
      add column maintained_at timestamptz,
      add column maintenance_due_at timestamptz not null default now(),
      add column pruned_at timestamptz,
      add column is_closed boolean not null default false,
      add column is_being_rewritten boolean not null default false,
      add column rewritten_at timestamptz,
      add column copy_tried_at timestamptz,
      add column problem text,
      add column problem_accepted_at timestamptz
    """,
    # When its data was complete in the store. `taken_at` is when the job began.
    "alter table snapshots add column stored_at timestamptz",
    "create index repositories_by_maintenance on repositories (maintenance_due_at)",
    "create index snapshots_to_copy on snapshots (id) where status = 'kept' and synced_at is null",
    "create index snapshots_by_expiry on snapshots (expires_at) where expires_at is not null",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
