"""Scans for malware, what they have found, and the vulnerabilities of WordPress, plugins and themes."""

from alembic import op

revision, down_revision = "0041", "0040"

STATEMENTS = [
    "alter table snapshots drop constraint snapshots_kind_check",
    """
    alter table snapshots add constraint snapshots_kind_check check (kind in
      ('scheduled', 'on_demand', 'before_push', 'before_restore', 'before_switch', 'before_update',
       'before_quarantine', 'site_deleted'))
    """,
    """
    create table malware_scans (
      id text collate "C" primary key,
      site_id text collate "C" not null references sites (id),
      env_id text collate "C" not null references environments (id),
      job_id text collate "C" not null unique,
      kind text not null check (kind in ('full', 'incremental')),
      cause text not null check (cause in ('on_demand', 'scheduled', 'change')),
      status text not null check (status in ('running', 'clean', 'infected', 'error')),
      started_at timestamptz not null,
      finished_at timestamptz,
      files bigint not null default 0,
      scanned bigint not null default 0,
      unchanged bigint not null default 0,
      failed bigint not null default 0,
      failures text[] not null default '{}',
      bytes bigint not null default 0,
      milliseconds bigint not null default 0,
      found integer not null default 0,
      omitted bigint not null default 0,
      unfinished bigint not null default 0,
      clamav text not null default '',
      rules text not null default '',
      error text
    )
    """,
    "create index malware_scans_of_environment on malware_scans (env_id, id desc)",
    """
    create table malware_detections (
      id text collate "C" primary key,
      site_id text collate "C" not null references sites (id),
      env_id text collate "C" not null references environments (id),
      scan_id text collate "C" not null,
      source text not null check (source in ('file', 'database')),
      path text not null,
      signature text not null,
      engine text not null,
      detail text not null default '',
      sha256 text not null,
      movable boolean not null,
      status text not null check (status in
        ('detected', 'quarantined', 'quarantine_failed', 'restored', 'ignored', 'dismissed')),
      reason text,
      restoring text not null default 'no' check (restoring in ('no', 'running', 'unknown')),
      restore_job_id text collate "C",
      announced boolean not null default false,
      blocked boolean not null default false,
      replaced boolean not null default false,
      detected_at timestamptz not null,
      updated_at timestamptz not null
    )
    """,
    "create index malware_detections_of_environment on malware_detections (env_id, id desc)",
    "create index malware_detections_unannounced on malware_detections (env_id) where not announced",
    """
    create index malware_detections_to_block on malware_detections (env_id)
      where source = 'file' and blocked <> (status = 'quarantined' and not replaced)
    """,
    "create index malware_detections_of_scan on malware_detections (scan_id)",
    "create index malware_detections_of_path on malware_detections (env_id, sha256)",
    """
    create index malware_detections_active on malware_detections (site_id, env_id)
      where status in ('detected', 'quarantined', 'quarantine_failed')
    """,
    """
    create table malware_ignored (
      env_id text collate "C" not null references environments (id),
      sha256 text not null,
      created_at timestamptz not null,
      primary key (env_id, sha256)
    )
    """,
    """
    create table malware_schedules (
      env_id text collate "C" primary key references environments (id),
      site_id text collate "C" not null references sites (id),
      due_at timestamptz not null,
      full_due_at timestamptz not null,
      failures integer not null default 0,
      cause text not null default 'scheduled'
    )
    """,
    "create index malware_schedules_due on malware_schedules (due_at)",
    """
    create table vulnerability_feeds (
      name text primary key,
      claimed_at timestamptz,
      attempted_at timestamptz,
      fetched_at timestamptz,
      digest text not null default '',
      records integer not null default 0,
      error text,
      attribution jsonb not null default '{}'
    )
    """,
    """
    create table vulnerabilities (
      id text collate "C" primary key,
      digest text not null,
      generation bigint not null,
      title text not null,
      cvss_score double precision,
      cvss_rating text not null default 'none',
      cve text,
      record_url text,
      copyrights jsonb not null,
      matched boolean not null default false
    )
    """,
    "create index vulnerabilities_unmatched on vulnerabilities (id) where not matched",
    "create index vulnerabilities_by_generation on vulnerabilities (generation)",
    """
    create table vulnerability_ranges (
      vulnerability_id text collate "C" not null references vulnerabilities (id) on delete cascade,
      type text not null,
      slug text not null,
      label text not null,
      from_key bytea not null,
      from_inclusive boolean not null,
      to_key bytea,
      to_inclusive boolean not null,
      patched boolean not null,
      fixed_version text,
      remediation text,
      name text not null
    )
    """,
    "create index vulnerability_ranges_of_record on vulnerability_ranges (vulnerability_id)",
    "create index vulnerability_ranges_of_component on vulnerability_ranges (type, slug)",
    """
    create table component_versions (
      id bigint generated always as identity primary key,
      type text not null,
      slug text not null,
      version text not null,
      key bytea,
      unique (type, slug, version)
    )
    """,
    """
    create table site_components (
      env_id text collate "C" not null references environments (id),
      version_id bigint not null references component_versions (id),
      site_id text collate "C" not null references sites (id),
      name text not null,
      primary key (env_id, version_id)
    )
    """,
    "create index site_components_of_version on site_components (version_id, env_id)",
    """
    create table component_inventories (
      env_id text collate "C" primary key references environments (id),
      site_id text collate "C" not null references sites (id),
      taken_at timestamptz not null
    )
    """,
    """
    -- References are left to site_components, which each row comes from: a record may open a million rows.
    create table vulnerability_findings (
      env_id text collate "C" not null,
      vulnerability_id text collate "C" not null,
      version_id bigint not null,
      site_id text collate "C" not null,
      opened_at timestamptz not null,
      fixed_at timestamptz,
      announced boolean not null default false,
      primary key (env_id, vulnerability_id, version_id)
    )
    """,
    """
    -- New entries come last, and the scan for the oldest forgets those that are announced one by one.
    create index vulnerability_findings_unannounced on vulnerability_findings (opened_at)
      with (deduplicate_items = off) where fixed_at is null and not announced
    """,
    "create index vulnerability_findings_of_record on vulnerability_findings (vulnerability_id)",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
