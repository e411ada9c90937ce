"""SSH keys and passwords of sites, and what nodes were told about them."""

from alembic import op

revision, down_revision = "0028", "0027"

STATEMENTS = [
    """
    create table ssh_keys (
      id text collate "C" primary key,
      site_id text collate "C" not null references sites on delete cascade,
      account_id text collate "C" not null references accounts on delete cascade,
      label text not null,
      type text not null,
      public_key bytea not null,
      fingerprint text collate "C" not null,
      may_run_commands boolean not null,
      granted_by text[] collate "C" not null,
      created_at timestamptz(3) not null,
      unique (site_id, fingerprint)
    )
    """,
    "create index ssh_keys_by_account on ssh_keys (account_id)",
    "create index ssh_keys_by_grant on ssh_keys using gin (granted_by)",
    """
    create table access_passwords (
      env_id text collate "C" primary key references environments on delete cascade,
      site_id text collate "C" not null references sites on delete cascade,
      id text collate "C" not null,
      account_id text collate "C" not null references accounts on delete cascade,
      sha256 bytea not null,
      granted_by text[] collate "C" not null,
      created_at timestamptz(3) not null
    )
    """,
    "create index access_passwords_by_site on access_passwords (site_id)",
    "create index access_passwords_by_account on access_passwords (account_id)",
    "create index access_passwords_by_grant on access_passwords using gin (granted_by)",
    # One row for each list that a node has or must get. A node that lost an environment gets an empty list.
    """
    create table access_lists (
      env_id text collate "C" not null,
      node_id text collate "C" not null references nodes on delete cascade,
      site_id text collate "C" not null references sites on delete cascade,
      driver text not null,
      content bytea not null,
      generation bigint not null,
      delivered bigint not null default 0,
      retry_at timestamptz(3) not null,
      refused text,
      valid_until timestamptz(3),
      primary key (env_id, node_id)
    )
    """,
    "create index access_lists_by_site on access_lists (site_id)",
    "create index access_lists_by_node on access_lists (node_id)",
    "create index access_lists_undelivered on access_lists (retry_at) where delivered < generation",
    "create index access_lists_expiring on access_lists (valid_until) where valid_until is not null",
    "create sequence access_generations",
    # Sites whose lists may have changed. Not unique: a change that commits while the one before it is being
    # handled needs a row of its own.
    """
    create table access_changes (
      id bigint generated always as identity primary key,
      site_id text collate "C" not null references sites on delete cascade
    )
    """,
    "create index access_changes_by_site on access_changes (site_id)",
    """
    create trigger access_changes_told after insert on access_changes
      for each statement execute function tell_of_events('access')
    """,
    # Triggers, so that no code that ends a permission can forget to take away what it gave.
    """
    create function note_changed_credential() returns trigger language plpgsql as $$
    begin
      insert into access_changes (site_id) select id from sites
        where id = case tg_op when 'DELETE' then old.site_id else new.site_id end;
      return null;
    end $$
    """,
    *(
        f"create trigger {table}_noted after insert or update or delete on {table}"
        " for each row execute function note_changed_credential()"
        for table in ("ssh_keys", "access_passwords")
    ),
    """
    create function note_access(changed text) returns void language sql as $$
      insert into access_changes (site_id) select changed
        where exists (select from ssh_keys where site_id = changed)
        or exists (select from access_passwords where site_id = changed)
        or exists (select from access_lists where site_id = changed)
    $$
    """,
    """
    create function note_changed_site() returns trigger language plpgsql as $$
    begin
      perform note_access(new.id);
      return null;
    end $$
    """,
    """
    create function note_changed_environment() returns trigger language plpgsql as $$
    begin
      perform note_access(new.site_id);
      return null;
    end $$
    """,
    """
    create trigger sites_noted after update of status, account_id, team_id, runtime on sites for each row
      when ((old.status, old.account_id, old.team_id, old.runtime)
        is distinct from (new.status, new.account_id, new.team_id, new.runtime))
      execute function note_changed_site()
    """,
    """
    create trigger environments_noted after update of status, node_id, subdomain on environments for each row
      when ((old.status, old.node_id, old.subdomain)
        is distinct from (new.status, new.node_id, new.subdomain))
      execute function note_changed_environment()
    """,
    """
    create trigger new_environments_noted after insert on environments
      for each row execute function note_changed_environment()
    """,
    """
    create function note_changed_member() returns trigger language plpgsql as $$
    begin
      insert into access_changes (site_id)
        select k.site_id from ssh_keys k join sites s on s.id = k.site_id
          where k.account_id = old.account_id and s.team_id = old.team_id
        union select p.site_id from access_passwords p join sites s on s.id = p.site_id
          where p.account_id = old.account_id and s.team_id = old.team_id;
      return null;
    end $$
    """,
    """
    create trigger team_members_noted after update or delete on team_members
      for each row execute function note_changed_member()
    """,
    """
    create function note_revoked_key() returns trigger language plpgsql as $$
    begin
      insert into access_changes (site_id)
        select site_id from ssh_keys where granted_by @> array[new.id]
        union select site_id from access_passwords where granted_by @> array[new.id];
      return null;
    end $$
    """,
    """
    create trigger api_keys_noted after update of revoked_at on api_keys for each row
      when (old.revoked_at is distinct from new.revoked_at) execute function note_revoked_key()
    """,
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
