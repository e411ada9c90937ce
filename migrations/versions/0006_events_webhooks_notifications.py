"""The order of events, webhook endpoints and deliveries, notifications."""

from alembic import op

revision, down_revision = "0006", "0005"

STATEMENTS = [
    "create sequence event_positions",
    """
    alter table events
      add column mode text check (mode in ('live', 'test')),
      add column written bigint generated always as identity,
      add column position bigint unique,
      add column owner text collate "C" generated always as (coalesce(team_id, account_id)) stored
    """,
    "update events e set mode = s.mode from sites s where s.id = e.site_id",
    "drop index events_by_account, events_by_team",
    "create index events_by_owner on events (owner, position)",
    "create index events_unnumbered on events (written) where position is null",
    "create index events_by_age on events (created_at)",
    """
    create function tell_of_events() returns trigger language plpgsql as $$
    begin
      perform pg_notify('events', tg_argv[0]);
      return null;
    end $$
    """,
    """
    create trigger events_told after insert on events
      for each statement execute function tell_of_events('events')
    """,
    """
    create table webhook_endpoints (
      id text collate "C" primary key,
      account_id text collate "C" not null references accounts on delete cascade,
      mode text not null check (mode in ('live', 'test')),
      pin_type text check (pin_type in ('site', 'environment', 'project', 'team')),
      pin_id text collate "C",
      url text not null,
      event_types text[] not null,
      description text,
      enabled boolean not null default true,
      disabled_reason text,
      failing_since timestamptz(3),
      secret bytea not null,
      previous_secret bytea,
      previous_until timestamptz(3),
      created_at timestamptz(3) not null,
      deleted_at timestamptz(3),
      check ((pin_type is null) = (pin_id is null)),
      check ((previous_secret is null) = (previous_until is null))
    )
    """,
    """
    create index webhook_endpoints_by_account on webhook_endpoints (account_id, id)
      where deleted_at is null
    """,
    "create index webhook_endpoints_deleted on webhook_endpoints (id) where deleted_at is not null",
    """
    create table webhook_deliveries (
      id text collate "C" primary key,
      endpoint_id text collate "C" not null references webhook_endpoints,
      event_id text collate "C" not null references events on delete cascade,
      status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
      attempts int not null default 0,
      claim int not null default 0,
      response_status int,
      last_error text,
      log jsonb not null default '[]',
      created_at timestamptz(3) not null,
      delivered_at timestamptz(3),
      next_attempt_at timestamptz(3),
      unique (endpoint_id, event_id),
      check ((status = 'pending') = (next_attempt_at is not null)),
      check ((status = 'delivered') = (delivered_at is not null))
    )
    """,
    "create index webhook_deliveries_by_endpoint on webhook_deliveries (endpoint_id, id)",
    "create index webhook_deliveries_by_event on webhook_deliveries (event_id)",
    """
    create index webhook_deliveries_due on webhook_deliveries (endpoint_id, next_attempt_at, id)
      where status = 'pending'
    """,
    """
    create trigger webhook_deliveries_told after insert on webhook_deliveries
      for each statement execute function tell_of_events('deliveries')
    """,
    """
    create table notifications (
      id text collate "C" primary key,
      account_id text collate "C" not null references accounts on delete cascade,
      event_id text collate "C" not null,
      team_id text collate "C",
      site_id text collate "C",
      env_id text collate "C",
      mode text,
      type text not null,
      category text not null,
      severity text not null check (severity in ('info', 'warning', 'error', 'critical')),
      bell boolean not null,
      title text not null,
      body text not null,
      payload jsonb not null,
      in_app boolean not null,
      read_at timestamptz(3),
      mail_wanted_at timestamptz(3),
      created_at timestamptz(3) not null,
      unique (account_id, event_id)
    )
    """,
    "create index notifications_shown on notifications (account_id, id) where in_app",
    "create index notifications_unread on notifications (account_id) where in_app and read_at is null",
    "create index notifications_to_mail on notifications (account_id, id) where mail_wanted_at is not null",
    "create index notifications_by_age on notifications (created_at)",
    """
    create table notification_preferences (
      account_id text collate "C" not null references accounts on delete cascade,
      category text not null,
      email boolean not null,
      primary key (account_id, category)
    )
    """,
    """
    create table notification_mailings (
      account_id text collate "C" primary key references accounts on delete cascade,
      sent_at timestamptz(3) not null
    )
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
