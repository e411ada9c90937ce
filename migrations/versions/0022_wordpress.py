"""WordPress sites: their first administrator, and what each plan lets an environment use."""

from alembic import op

revision, down_revision = "0022", "0021"

STATEMENTS = [
    """
    create table wordpress_sites (
      site_id text primary key references sites on delete cascade,
      title text not null,
      admin_user text not null,
      admin_email text not null,
      admin_password bytea
    )
    """,
    """
    create table wordpress_plans (
      plan text primary key references plans on delete cascade,
      memory_mb int not null check (memory_mb >= 128),
      cpus real not null check (cpus > 0),
      processes int not null check (processes >= 16),
      disk_mb int not null check (disk_mb >= 256)
    )
    """,
    """
    insert into wordpress_plans
    select name, memory_mb, cpus, processes, disk_mb from plans
    join (values ('free', 256, 0.5, 48, 1024), ('pro', 512, 1.0, 64, 10240),
      ('business', 1024, 2.0, 128, 40960)) v (name, memory_mb, cpus, processes, disk_mb) using (name)
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
