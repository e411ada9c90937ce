"""Makes a copy of the database of a site harmless: it must not do to the customers of the site what the site
itself does for them.

Run on the schema of the copy before anybody uses it. Tables that a site does not have are left out. The sites
of a multisite network have tables of their own, whose names contain a number.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from stead.mariadb.connection import Connection, StatementFailed, connect
from stead.node.databases.names import quote_name

STATEMENT_SECONDS = 600
_TABLE = re.compile(r"wp_(?:\d+_)?(\w+)", re.ASCII)

EMPTIED = (
    *("woocommerce_sessions", "wc_admin_notes", "wc_admin_note_actions", "wc_rate_limits"),
    *("actionscheduler_claims", "actionscheduler_logs", "wc_webhooks_log"),
    *("redirection_logs", "redirection_404", "simple_history", "simple_history_contexts"),
    *("statistics_visitor", "statistics_visit", "statistics_pages", "statistics_useronline"),
    *(
        "wfhits",
        "wflogins",
        "wfcrawlers",
        "wflivetraffichuman",
        "wfstatus",
        "wpforms_logs",
        "wpmailsmtp_tasks_meta",
    ),
)
"""Sessions of visitors, logs, and what is built again."""

_STATEMENTS = (
    # Search engines do not list it. The edge says the same in a header.
    ("options", "UPDATE {options} SET option_value = '0' WHERE option_name = 'blog_public'"),
    (
        "options",
        "DELETE FROM {options} WHERE option_name LIKE '\\_transient\\_%'"
        " OR option_name LIKE '\\_site\\_transient\\_%'",
    ),
    # Sessions, passwords of applications and links for lost passwords of production are worth nothing here.
    (
        "usermeta",
        "DELETE FROM {usermeta} WHERE meta_key IN"
        " ('session_tokens', '_application_passwords', '_new_email', 'default_password_nag')",
    ),
    (
        "options",
        "DELETE FROM {options} WHERE option_name IN ('recovery_keys', 'adminhash', 'new_admin_email')",
    ),
    ("sitemeta", "DELETE FROM {sitemeta} WHERE meta_key LIKE '\\_site\\_transient\\_%'"),
    ("signups", "UPDATE {signups} SET activation_key = ''"),
    ("users", "UPDATE {users} SET user_activation_key = ''"),
    # What is scheduled happens on production only: renewals of subscriptions, mail, synchronization.
    (
        "actionscheduler_actions",
        "UPDATE {actionscheduler_actions} SET status = 'canceled' WHERE status IN ('pending', 'in-progress')",
    ),
    ("wc_webhooks", "UPDATE {wc_webhooks} SET status = 'disabled'"),
    # Styles that contain URLs of production; page builders make them again.
    ("postmeta", "DELETE FROM {postmeta} WHERE meta_key IN ('_elementor_css', '_elementor_page_assets')"),
    (
        "options",
        "DELETE FROM {options} WHERE option_name IN"
        " ('_elementor_global_css', 'elementor-custom-breakpoints-files')",
    ),
)

_COLUMNS = {
    "options": {"option_name", "option_value"},
    "usermeta": {"meta_key"},
    "sitemeta": {"meta_key"},
    "signups": {"activation_key"},
    "users": {"user_activation_key"},
    "actionscheduler_actions": {"status"},
    "wc_webhooks": {"status"},
    "postmeta": {"meta_key"},
}
"""What the statements use. A table with the same name and other columns is one of a plugin."""


def neutralize(socket: Path, schema: str) -> None:
    """Blocks. Can be repeated. Raises StatementFailed, ServerUnavailable."""
    with connect(socket) as connection:
        # Triggers of the customer run with these statements, and may never end.
        connection.execute(f"SET max_statement_time = {STATEMENT_SECONDS:d}")
        tables = _list_tables(connection, schema)
        for name, statement in _STATEMENTS:
            for table in tables.get(name, ()):
                connection.execute(statement.replace(f"{{{name}}}", table))
        for name in EMPTIED:
            for table in tables.get(name, ()):
                _empty(connection, table)


def _empty(connection: Connection, table: str) -> None:
    try:
        connection.execute(f"TRUNCATE TABLE {table}")
    except StatementFailed:
        # Another table refers to it.
        connection.execute(f"DELETE FROM {table}")  # noqa: S608


def _list_tables(connection: Connection, schema: str) -> Mapping[str, list[str]]:
    """The quoted tables of the schema, by their names without prefix."""
    rows = connection.execute(
        "SELECT table_name, GROUP_CONCAT(column_name) FROM information_schema.tables"
        " JOIN information_schema.columns USING (table_schema, table_name)"
        " WHERE table_schema = %s AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') GROUP BY table_name",
        [schema],
    )
    tables = defaultdict[str, list[str]](list)
    for table, columns in rows:
        found = _TABLE.fullmatch(str(table))
        if found and _COLUMNS.get(found[1], set()) <= set(str(columns).split(",")):
            tables[found[1]].append(f"{quote_name(schema)}.{quote_name(str(table))}")
    return tables
