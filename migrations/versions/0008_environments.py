"""Environments beside production: why they failed, when they were visited, whose branch is gone."""

from alembic import op

revision, down_revision = "0008", "0007"

STATEMENTS = [
    """
    alter table environments
      add column status_reason text,
      add column returns_to text,
      add column awake_since timestamptz(3),
      add column branch_gone_at timestamptz(3),
      add column lease_token_hash bytea,
      add column lease_expires_at timestamptz(3),
      add constraint environments_status check (status in
        ('provisioning', 'running', 'suspending', 'suspended', 'deleting', 'deleted', 'failed')),
      add constraint environments_gone check (branch_gone_at is null or type = 'branch')
    """,
    # What is deleted stands in nobody's way.
    "drop index environments_single, environments_by_branch",
    "create unique index environments_production on environments (site_id) where type = 'production'",
    """
    create unique index environments_staging on environments (site_id)
      where type = 'staging' and status <> 'deleted'
    """,
    """
    create unique index environments_by_branch on environments (site_id, branch)
      where type = 'branch' and status <> 'deleted'
    """,
    "alter table environments drop constraint environments_subdomain_key",
    "create unique index environments_by_subdomain on environments (subdomain) where status <> 'deleted'",
    "create index environments_by_site on environments (site_id, id)",
    """
    create index environments_idle on environments (greatest(last_active, awake_since, created_at))
      where type = 'branch' and status = 'running'
    """,
    "create index deployments_by_job on deployments (job_id)",
    "create index environments_abandoned on environments (branch_gone_at) where branch_gone_at is not null",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
