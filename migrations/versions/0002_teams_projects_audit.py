"""Teams, members, invites, projects, the ownership of sites, the audit trail, outgoing mail."""

from alembic import op

revision, down_revision = "0002", "0001"

STATEMENTS = [
    """
    create table teams (
      id text collate "C" primary key,
      name text not null,
      plan text not null references plans,
      created_at timestamptz(3) not null
    )
    """,
    """
    create table team_members (
      id text collate "C" primary key,
      team_id text collate "C" not null references teams on delete cascade,
      account_id text collate "C" not null references accounts on delete cascade,
      role text not null check (role in ('owner', 'admin', 'site_manager', 'observer', 'billing')),
      expires_at timestamptz(3),
      created_at timestamptz(3) not null,
      unique (account_id, team_id)
    )
    """,
    "create index team_members_by_team on team_members (team_id, id)",
    "alter table accounts add foreign key (default_team_id) references teams on delete set null",
    "create index accounts_by_default_team on accounts (default_team_id) where default_team_id is not null",
    """
    create table team_invites (
      id text collate "C" primary key,
      team_id text collate "C" not null references teams on delete cascade,
      role text not null check (role in ('owner', 'admin', 'site_manager', 'observer', 'billing')),
      email text,
      token_hash bytea not null unique,
      invited_by text collate "C" not null references accounts on delete cascade,
      expires_at timestamptz(3) not null,
      accepted_at timestamptz(3),
      created_at timestamptz(3) not null
    )
    """,
    "create index team_invites_by_team on team_invites (team_id, id)",
    """
    create table projects (
      id text collate "C" primary key,
      account_id text collate "C" references accounts on delete cascade,
      team_id text collate "C" references teams on delete cascade,
      name text not null,
      created_at timestamptz(3) not null,
      check (num_nonnulls(account_id, team_id) = 1)
    )
    """,
    "create index projects_by_account on projects (account_id, id) where account_id is not null",
    "create index projects_by_team on projects (team_id, id) where team_id is not null",
    """
    create table sites (
      id text collate "C" primary key,
      account_id text collate "C" references accounts on delete restrict,
      team_id text collate "C" references teams on delete restrict,
      project_id text collate "C" references projects on delete set null,
      mode text not null check (mode in ('live', 'test')),
      slug text not null unique,
      domain text not null unique,
      profile text not null check (profile in ('git_managed', 'vanilla', 'static', 'wasm')),
      runtime text not null check (runtime in ('cms', 'static', 'wasm')),
      php_version text,
      region text not null,
      git_repo text,
      git_branch text,
      status text not null,
      status_reason text,
      recoverable_until timestamptz(3),
      created_at timestamptz(3) not null,
      check (num_nonnulls(account_id, team_id) = 1)
    )
    """,
    "create index sites_by_account on sites (account_id, id) where account_id is not null",
    "create index sites_by_team on sites (team_id, id) where team_id is not null",
    "create index sites_by_project on sites (project_id, id) where project_id is not null",
    """
    create table audit_events (
      id text collate "C" primary key,
      event text not null,
      outcome text not null check (outcome in ('success', 'denied')),
      actor_kind text not null check (actor_kind in ('member', 'api_key', 'system')),
      actor_user_id text collate "C",
      actor_email text,
      actor_key_id text collate "C",
      team_id text collate "C",
      site_id text collate "C",
      meta jsonb not null,
      created_at timestamptz(3) not null
    ) partition by range (id)
    """,
    "create table audit_events_rest partition of audit_events default",
    "create index audit_events_by_actor on audit_events (actor_user_id, id)",
    "create index audit_events_by_team on audit_events (team_id, id) where team_id is not null",
    "create index audit_events_by_site on audit_events (site_id, id) where site_id is not null",
    """
    create table outgoing_mail (
      id text collate "C" primary key,
      sealed bytea not null,
      attempts int not null default 0,
      next_attempt_at timestamptz(3) not null,
      created_at timestamptz(3) not null
    )
    """,
    "create index outgoing_mail_due on outgoing_mail (next_attempt_at)",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
