"""Snapshots before updates, exports of databases, and DNS records."""

from alembic import op

revision, down_revision = "0039", "0038"

STATEMENTS = [
    "alter table snapshots drop constraint snapshots_kind_check",
    """
    alter table snapshots add constraint snapshots_kind_check check (kind in
      ('scheduled', 'on_demand', 'before_push', 'before_restore', 'before_switch', 'before_update',
       'site_deleted'))
    """,
    """
    create table database_exports (
      id text collate "C" primary key,
      site_id text collate "C" not null,
      size_bytes bigint check (size_bytes >= 0),
      expires_at timestamptz not null
    )
    """,
    "create index database_exports_by_expiry on database_exports (expires_at)",
    # Names that are verified so far: it is not known how.
    "alter table domains add column proved_by_record boolean not null default false",
    """
    create table dns_zones (
      site_id text collate "C" primary key references sites (id) on delete cascade,
      name text not null,
      mode text not null check (mode in ('live', 'test')),
      version bigint not null default 0,
      published_version bigint not null default 0,
      own text not null default '',
      changed_at timestamptz not null,
      next_attempt_at timestamptz not null,
      leased_until timestamptz not null default '-infinity',
      delegation text not null default 'unknown'
        check (delegation in ('unknown', 'none', 'partial', 'complete')),
      delegation_check_at timestamptz not null default '-infinity',
      proof_check_at timestamptz not null default '-infinity'
    )
    """,
    # Not unique: a site that has not proved a domain keeps nobody from its zone.
    "create index dns_zones_by_name on dns_zones (name)",
    "create index dns_zones_to_publish on dns_zones (next_attempt_at) where version <> published_version",
    "create index dns_zones_to_prove on dns_zones (proof_check_at) where published_version = 0",
    "create index dns_zones_to_check on dns_zones (delegation_check_at) where published_version > 0",
    """
    create table dns_records (
      id text collate "C" primary key,
      site_id text collate "C" not null references dns_zones (site_id) on delete cascade,
      type text not null check (type in ('A', 'AAAA', 'CNAME', 'MX', 'TXT', 'SRV', 'CAA', 'NS')),
      name text not null,
      value text not null,
      ttl int not null check (ttl between 60 and 86400),
      priority int check (priority between 0 and 65535),
      version bigint not null,
      created_at timestamptz not null
    )
    """,
    "create unique index dns_records_once on dns_records (site_id, name, type, md5(value), priority)",
    "create index dns_records_of_site on dns_records (site_id, id desc)",
    """
    create table dns_challenges (
      host text primary key,
      site_id text collate "C" not null references dns_zones (site_id) on delete cascade,
      name text not null,
      value text not null,
      created_at timestamptz not null
    )
    """,
    "create index dns_challenges_of_site on dns_challenges (site_id)",
    # Finds the names below a wildcard.
    'create index domains_backwards on domains ((reverse(hostname) collate "C"))',
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
