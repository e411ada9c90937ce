"""Sign-in links of WordPress sites. Only the SHA-256 hash of a token is stored."""

from alembic import op

revision, down_revision = "0027", "0026"

STATEMENTS = [
    """
    create table magic_links (
      token_hash bytea primary key check (length(token_hash) = 32),
      purpose text not null default 'sign_in' check (purpose = 'sign_in'),
      environment_id text collate "C" not null references environments on delete cascade,
      host text not null,
      wordpress_user text not null,
      redirect_to text not null,
      account_id text collate "C" not null references accounts on delete cascade,
      key_id text collate "C" references api_keys on delete cascade,
      created_at timestamptz(3) not null,
      expires_at timestamptz(3) not null,
      used_at timestamptz(3)
    )
    """,
    "create index magic_links_by_environment on magic_links (environment_id, created_at)",
    "create index magic_links_by_expiry on magic_links (expires_at)",
    "create index magic_links_by_account on magic_links (account_id)",
    "create index magic_links_by_key on magic_links (key_id)",
]


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
