"""Ids are compared byte by byte everywhere: an index with another collation cannot be used to join tables."""

from alembic import op

revision, down_revision = "0042", "0041"

COLUMNS = {
    "backup_schedules": ("site_id",),
    "builds": ("key_id",),
    "captured_mails": ("id", "env_id"),
    "repositories": ("site_id",),
    "snapshots": ("id", "site_id", "env_id", "job_id", "artifact_id", "restic_id"),
    "wordpress_sites": ("site_id",),
}


def upgrade() -> None:
    for table, columns in COLUMNS.items():
        changes = ", ".join(f'alter column {column} type text collate "C"' for column in columns)
        op.execute(f"alter table {table} {changes}")
