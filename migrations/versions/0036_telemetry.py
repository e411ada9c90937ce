"""What nodes record about sites: chunks on their way to ClickHouse, gaps, and which node hosted what when."""

from alembic import op

revision, down_revision = "0036", "0035"

STATEMENTS = [
    # How long the requests of sites are kept.
    "alter table plans add column insights_days int not null default 30 check (insights_days > 0)",
    "update plans set insights_days = case name when 'free' then 7 when 'pro' then 30 else 180 end",
    # Without a foreign key: what happened before an environment was removed may arrive later.
    """
    create table environment_placements (
      env_id text collate "C" not null,
      node_id text collate "C" not null,
      since timestamptz(3) not null,
      until timestamptz(3),
      primary key (env_id, since)
    )
    """,
    "create index environment_placements_by_node on environment_placements (node_id, env_id)",
    "create index environment_placements_ended on environment_placements (until) where until is not null",
    # When earlier moves took place is unknown.
    """
    insert into environment_placements (env_id, node_id, since)
    select id, node_id, created_at from environments where node_id is not null
    """,
    """
    create function record_placement() returns trigger language plpgsql as $$
    begin
      if tg_op <> 'INSERT' then
        update environment_placements set until = clock_timestamp() where env_id = old.id and until is null;
      end if;
      if tg_op <> 'DELETE' and new.node_id is not null then
        insert into environment_placements (env_id, node_id, since)
        values (new.id, new.node_id, clock_timestamp())
        on conflict (env_id, since) do update set node_id = excluded.node_id, until = null;
      end if;
      return null;
    end $$
    """,
    """
    create trigger environments_placed after insert or delete on environments
    for each row execute function record_placement()
    """,
    """
    create trigger environments_moved after update of node_id on environments
    for each row when (old.node_id is distinct from new.node_id) execute function record_placement()
    """,
    """
    create table telemetry_chunks (
      node_id text collate "C" not null,
      id text collate "C" not null,
      stream text not null,
      status text not null check (status in ('offered', 'stored', 'done', 'refused', 'withdrawn')),
      size bigint not null,
      sha256 bytea not null,
      rows bigint not null,
      first_at timestamptz(3) not null,
      last_at timestamptz(3) not null,
      until timestamptz(3) not null,
      offered_at timestamptz(3) not null,
      stored_at timestamptz(3),
      ended_at timestamptz(3),
      claimed_until timestamptz(3),
      inserting_until timestamptz(3),
      attempts int not null default 0,
      tries int not null default 0,
      decisions jsonb,
      inserted bigint,
      has_object boolean not null default true,
      primary key (node_id, id)
    )
    """,
    "create index telemetry_chunks_stored on telemetry_chunks (tries, stored_at) where status = 'stored'",
    "create index telemetry_chunks_inserting on telemetry_chunks (inserting_until)"
    " where inserting_until is not null",
    "create index telemetry_chunks_waiting on telemetry_chunks (node_id, stream, first_at)"
    " where status in ('offered', 'stored')",
    "create index telemetry_chunks_refused on telemetry_chunks (node_id) where status = 'refused'",
    "create index telemetry_chunks_with_object on telemetry_chunks (offered_at)"
    " where has_object and ended_at is not null",
    "create index telemetry_chunks_ended on telemetry_chunks (ended_at) where ended_at is not null",
    "create index telemetry_chunks_offered on telemetry_chunks (offered_at) where status = 'offered'",
    """
    create table telemetry_gaps (
      node_id text collate "C" not null,
      stream text not null,
      first_at timestamptz(3) not null,
      last_at timestamptz(3) not null,
      rows bigint not null,
      primary key (node_id, stream, first_at, last_at)
    )
    """,
    "create index telemetry_gaps_by_end on telemetry_gaps (last_at)",
    # Sites whose rows in ClickHouse were deleted.
    """
    create table telemetry_erasures (
      site_id text collate "C" primary key references sites on delete cascade,
      erased_at timestamptz(3) not null
    )
    """,
    "create index sites_to_erase on sites (recoverable_until) where status = 'deleted'",
    # How much each site stored on each day.
    """
    create table site_storage (
      site_id text collate "C" not null references sites on delete cascade,
      day date not null,
      bytes bigint not null,
      primary key (site_id, day)
    )
    """,
    "create index site_storage_by_day on site_storage (day)",
    """
    create table telemetry_progress (
      node_id text collate "C" not null,
      stream text not null,
      until timestamptz(3) not null,
      primary key (node_id, stream)
    )
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
