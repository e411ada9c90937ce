"""What production keeps when the database of another environment is pushed to it: what its visitors did.

A push replaces content and settings. Orders, accounts, comments and entries of forms come from visitors of
production, so production's are copied into the new database before it is used (decision 0041).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from stead.mariadb.connection import Connection, connect
from stead.node.databases.names import quote_name

PREFIX = "wp_"

TABLES = (
    *("users", "usermeta", "comments", "commentmeta"),
    # WooCommerce and its scheduler.
    *("wc_orders*", "wc_order_*", "woocommerce_order_items", "woocommerce_order_itemmeta"),
    *("woocommerce_payment_token*", "wc_customer_lookup", "wc_download_log", "woocommerce_log"),
    *("woocommerce_downloadable_product_permissions", "woocommerce_sessions", "woocommerce_api_keys"),
    *("wc_webhooks", "wc_reserved_stock", "actionscheduler_*"),
    # Entries of forms.
    *("gf_entry*", "gf_form_view", "gf_draft_submissions", "wpforms_entries", "wpforms_entry_*"),
    *("fluentform_submission*", "fluentform_entry_details", "frm_items", "frm_item_metas"),
    # Members, courses, donations, downloads.
    *("pmpro_memberships_users", "pmpro_membership_order*", "pmpro_subscription*", "mepr_transactions"),
    *("mepr_subscriptions", "mepr_members", "mepr_events", "learndash_user_activity*", "give_donor*"),
    *("edd_order*", "edd_customer*", "edd_adjustment*", "edd_logs*"),
)
"""Patterns of names, without the prefix."""

POST_TYPES = (
    *("shop_order", "shop_order_refund", "shop_order_placehold", "shop_subscription"),
    *("edd_payment", "give_payment", "flamingo_inbound", "flamingo_contact"),
)
"""Posts that visitors make."""

OPTIONS = (
    *("siteurl", "home", "blog_public", "admin_email", "new_admin_email", "cron"),
    *("mailserver_url", "mailserver_login", "mailserver_pass", "mailserver_port"),
)
"""Settings that a clone has other values of, because it is a clone."""


class PushRefused(Exception):
    """The message says why."""


@dataclass(frozen=True)
class _Schemas:
    production: str
    new: str


def keep_data_of_production(socket: Path, production: str, new: str) -> list[str]:
    """Copy it from one schema to the other, which nobody uses yet. Returns the names of the tables.

    Call it while production is stopped: what a visitor does afterwards would be lost. Blocks. Can be
    repeated. Raises PushRefused, StatementFailed, ServerUnavailable.
    """
    schemas = _Schemas(production, new)
    with connect(socket) as connection:
        connection.execute(f"USE {quote_name(new)}")
        connection.execute("SET foreign_key_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
        connection.execute("START TRANSACTION")
        tables = [name for name in _list_tables(connection, production) if is_protected(name)]
        for table in tables:
            _copy_table(connection, schemas, table)
        _copy_posts(connection, schemas)
        _copy_options(connection, schemas)
        connection.execute("COMMIT")
    return tables


def is_protected(table: str) -> bool:
    name = table.removeprefix(PREFIX)
    return name != table and any(fnmatchcase(name, pattern) for pattern in TABLES)


def _copy_table(connection: Connection, schemas: _Schemas, table: str) -> None:
    """With the columns that the new table has: plugins may be newer in the environment."""
    source, target = _quote(schemas.production, table), _quote(schemas.new, table)
    columns = _list_columns(connection, schemas.production, table)
    if table in _list_tables(connection, schemas.new):
        existing = _list_columns(connection, schemas.new, table)
        columns = [column for column in columns if column in existing]
        connection.execute(f"DELETE FROM {target}")  # noqa: S608
    else:
        connection.execute(f"CREATE TABLE {target} LIKE {source}")
    _insert(connection, source, target, columns)


def _copy_posts(connection: Connection, schemas: _Schemas) -> None:
    posts, meta = f"{PREFIX}posts", f"{PREFIX}postmeta"
    present = {*_list_tables(connection, schemas.production)} & {*_list_tables(connection, schemas.new)}
    if not {posts, meta} <= present:
        return
    types = ", ".join(f"'{name}'" for name in POST_TYPES)
    source, target = _quote(schemas.production, posts), _quote(schemas.new, posts)
    source_meta, target_meta = _quote(schemas.production, meta), _quote(schemas.new, meta)
    connection.execute(
        f"DELETE m FROM {target_meta} m JOIN {target} p ON p.ID = m.post_id WHERE p.post_type IN ({types})"
    )
    connection.execute(f"DELETE FROM {target} WHERE post_type IN ({types})")  # noqa: S608
    ((taken,),) = connection.execute(
        f"SELECT COUNT(*) FROM {source} s JOIN {target} t ON t.ID = s.ID WHERE s.post_type IN ({types})"  # noqa: S608
    )
    if taken:
        raise PushRefused(
            f"{int(taken)} orders or entries of production have the numbers of new posts of the environment:"
            " refresh the environment and repeat the changes"
        )
    columns = _common_columns(connection, schemas, posts)
    _insert(connection, source, target, columns, f"post_type IN ({types})")
    columns = [column for column in _common_columns(connection, schemas, meta) if column != "meta_id"]
    orders = f"post_id IN (SELECT ID FROM {source} WHERE post_type IN ({types}))"  # noqa: S608
    _insert(connection, source_meta, target_meta, columns, orders)


def _copy_options(connection: Connection, schemas: _Schemas) -> None:
    table = f"{PREFIX}options"
    if table not in _list_tables(connection, schemas.production):
        return
    source, target = _quote(schemas.production, table), _quote(schemas.new, table)
    names = ", ".join(f"'{name}'" for name in OPTIONS)
    connection.execute(f"DELETE FROM {target} WHERE option_name IN ({names})")  # noqa: S608
    columns = [column for column in _common_columns(connection, schemas, table) if column != "option_id"]
    _insert(connection, source, target, columns, f"option_name IN ({names})")


def _insert(
    connection: Connection, source: str, target: str, columns: Sequence[str], condition: str = "TRUE"
) -> None:
    names = ", ".join(quote_name(column) for column in columns)
    connection.execute(f"INSERT INTO {target} ({names}) SELECT {names} FROM {source} WHERE {condition}")  # noqa: S608


def _common_columns(connection: Connection, schemas: _Schemas, table: str) -> list[str]:
    existing = _list_columns(connection, schemas.new, table)
    return [column for column in _list_columns(connection, schemas.production, table) if column in existing]


def _quote(schema: str, table: str) -> str:
    return f"{quote_name(schema)}.{quote_name(table)}"


def _list_tables(connection: Connection, schema: str) -> list[str]:
    rows: Iterable[Sequence[object]] = connection.execute(
        "SELECT table_name FROM information_schema.tables"
        " WHERE table_schema = %s AND table_type = 'BASE TABLE' ORDER BY table_name",
        [schema],
    )
    return [str(name) for (name,) in rows]


def _list_columns(connection: Connection, schema: str, table: str) -> list[str]:
    """Without generated ones."""
    rows = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
        " AND generation_expression IS NULL ORDER BY ordinal_position",
        [schema, table],
    )
    return [str(name) for (name,) in rows]
