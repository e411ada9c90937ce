"""Limits per account, verified email addresses, sessions that can be told apart, keys and their minters, and
the commits that hooks have reported."""

from alembic import op

revision, down_revision = "0010", "0009"

STATEMENTS = [
    """
    alter table plans
      add column max_teams int not null default 1000,
      add column max_keys int not null default 1000,
      add column max_invites int not null default 1000,
      add column max_projects int not null default 1000,
      add column max_webhook_endpoints int not null default 50,
      add column max_emails_per_day int not null default 1000,
      add column rate_account_create int not null default 60000000 check (rate_account_create > 0),
      add column teams_share_quota boolean not null default false
    """,
    """
    update plans p set max_teams = v.teams, max_keys = v.keys, max_invites = v.invites,
      max_projects = v.projects, max_webhook_endpoints = v.endpoints, max_emails_per_day = v.emails,
      rate_account_create = v.creates, teams_share_quota = v.shared
    from (values
      ('free', 3, 20, 10, 10, 5, 20, 10, true),
      ('pro', 20, 200, 100, 100, 50, 200, 240, false),
      ('business', 200, 2000, 1000, 1000, 50, 2000, 1200, false)
    ) v (name, teams, keys, invites, projects, endpoints, emails, creates, shared) where p.name = v.name
    """,
    'alter table teams add column founded_by text collate "C" references accounts on delete set null',
    # The first owner of a team founded it, unless that owner has left.
    """
    update teams t set founded_by = (
      select m.account_id from team_members m where m.team_id = t.id and m.role = 'owner'
      order by m.id limit 1)
    """,
    "create index teams_by_founder on teams (founded_by)",
    "alter table accounts add column email_verified_at timestamptz(3)",
    # Accounts that exist already keep getting their mail.
    "update accounts set email_verified_at = created_at",
    """
    create table email_verifications (
      token_hash bytea primary key,
      account_id text collate "C" not null references accounts on delete cascade,
      email text not null,
      created_at timestamptz(3) not null,
      expires_at timestamptz(3) not null
    )
    """,
    "create index email_verifications_by_account on email_verifications (account_id)",
    "create index email_verifications_by_expiry on email_verifications (expires_at)",
    """
    create table sent_emails (
      id text collate "C" primary key,
      account_id text collate "C" not null references accounts on delete cascade,
      recipient bytea not null,
      sent_at timestamptz(3) not null
    )
    """,
    "create index sent_emails_by_account on sent_emails (account_id, sent_at)",
    "create index sent_emails_by_recipient on sent_emails (recipient, sent_at)",
    "create index sent_emails_by_age on sent_emails (sent_at)",
    "alter table sessions add column address text, add column network text, add column user_agent text",
    'alter table api_keys add column minted_by text collate "C" references api_keys on delete set null',
    "create index api_keys_by_minter on api_keys (minted_by) where minted_by is not null",
    """
    create table branch_commits (
      site_id text collate "C" not null references sites on delete cascade,
      branch text not null,
      commit text not null,
      is_head boolean not null,
      heard_at timestamptz(3) not null,
      primary key (site_id, branch, commit)
    )
    """,
    "create unique index branch_heads on branch_commits (site_id, branch) where is_head",
    "create index branch_commits_by_age on branch_commits (site_id, heard_at)",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
