"""Domains as a resource: who has which name, and whether it is proved."""

from alembic import op

revision, down_revision = "0015", "0014"

STATEMENTS = [
    """
    create table domains (
      id text collate "C" primary key,
      hostname text collate "C" not null,
      site_id text collate "C" not null references sites on delete cascade,
      env_id text collate "C" not null references environments on delete cascade,
      mode text not null check (mode in ('live', 'test')),
      is_primary boolean not null default false,
      redirect_to_primary boolean not null default false,
      status text not null check (status in ('pending', 'verified', 'failed')),
      reason text,
      challenge text not null,
      verified_at timestamptz(3),
      pending_since timestamptz(3) not null,
      attempts int not null default 0,
      next_check_at timestamptz(3),
      lease_until timestamptz(3),
      requested_at timestamptz(3),
      released_at timestamptz(3),
      released_by text collate "C",
      created_at timestamptz(3) not null,
      check (not (is_primary and redirect_to_primary)),
      check ((status = 'verified') = (verified_at is not null)),
      check ((released_at is null) = (released_by is null)),
      check (released_at is null or status = 'verified')
    )
    """,
    # The sites that exist keep their names. Of several deleted sites with one name, the last has it.
    """
    insert into domains (id, hostname, site_id, env_id, mode, is_primary, status, challenge, verified_at,
      pending_since, created_at)
    select distinct on (s.mode, s.domain) 'dom_' || substr(s.id, 6), s.domain, s.id, e.id, s.mode, true,
      'verified', 'stead-' || replace(gen_random_uuid()::text, '-', ''), s.created_at, s.created_at,
      s.created_at
    from sites s join environments e on e.site_id = s.id and e.type = 'production'
    order by s.mode, s.domain, (s.status <> 'deleted') desc, s.recoverable_until desc nulls last
    """,
    "drop index sites_by_domain",
    "create index sites_by_domain on sites (domain)",
    """
    create unique index domains_verified on domains (hostname)
      where mode = 'live' and status = 'verified' and released_at is null
    """,
    "create unique index domains_of_site on domains (site_id, hostname) where released_at is null",
    "create unique index domains_primary on domains (site_id) where is_primary and released_at is null",
    "create index domains_by_hostname on domains (hostname)",
    "create index domains_by_environment on domains (env_id, id)",
    "create index domains_due on domains (next_check_at) where next_check_at is not null",
    "create index domains_leased on domains (lease_until) where lease_until is not null",
    "create index domains_released on domains (released_at) where released_at is not null",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
