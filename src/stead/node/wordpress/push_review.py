"""Finds out what production has that an environment does not have, before the environment is pushed to it."""

from dataclasses import dataclass
from pathlib import Path

from stead.mariadb.connection import Connection, connect
from stead.node.databases.names import quote_name
from stead.node.wordpress.protected_data import POST_TYPES, PREFIX, is_protected

MAX_TYPES = 30
_NOT_CONTENT = ("revision", "auto-draft", "customize_changeset", "oembed_cache", "user_request")


@dataclass(frozen=True)
class NewerRows:
    what: str
    count: int
    kept: bool
    """Whether a push keeps them."""

    def __str__(self) -> str:
        fate = "they are kept" if self.kept else "they would be lost"
        return f"production has {self.count} new or changed {self.what}: {fate}"


@dataclass(frozen=True)
class _Kind:
    what: str
    table: str
    key: str
    created: str
    changed: str = ""


_KINDS = (
    _Kind("orders", "wc_orders", "id", "date_created_gmt", "date_updated_gmt"),
    _Kind("users", "users", "ID", "user_registered"),
    _Kind("comments", "comments", "comment_ID", "comment_date_gmt"),
    _Kind("form entries (Gravity Forms)", "gf_entry", "id", "date_created", "date_updated"),
    _Kind("form entries (WPForms)", "wpforms_entries", "entry_id", "date", "date_modified"),
    _Kind("form entries (Fluent Forms)", "fluentform_submissions", "id", "created_at", "updated_at"),
    _Kind("form entries (Formidable)", "frm_items", "id", "created_at", "updated_at"),
)


def list_newer(socket: Path, production: str, environment: str) -> list[NewerRows]:
    """Compare two schemas. Rows with the same number that were created at different times are different ones.

    Blocks. Raises StatementFailed, ServerUnavailable.
    """
    with connect(socket) as connection:
        columns = {schema: _list_columns(connection, schema) for schema in (production, environment)}
        found = [
            _count(connection, kind, production, environment)
            for kind in _KINDS
            if all(_has(columns[schema], kind) for schema in columns)
        ]
        posts = _Kind("posts", "posts", "ID", "post_date_gmt", "post_modified_gmt")
        if all(_has(columns[schema], posts) for schema in columns):
            found += _count_posts(connection, posts, production, environment)
    return [each for each in found if each.count]


def _has(columns: dict[str, set[str]], kind: _Kind) -> bool:
    wanted = {kind.key, kind.created, *([kind.changed] if kind.changed else [])}
    return wanted <= columns.get(PREFIX + kind.table, set())


def _count(connection: Connection, kind: _Kind, production: str, environment: str) -> NewerRows:
    ((count,),) = connection.execute(f"SELECT COUNT(*) {_newer(kind, production, environment)}")
    return NewerRows(kind.what, int(count or 0), is_protected(PREFIX + kind.table))


def _count_posts(connection: Connection, kind: _Kind, production: str, environment: str) -> list[NewerRows]:
    left_out = ", ".join(f"'{name}'" for name in _NOT_CONTENT)
    rows = connection.execute(
        f"SELECT p.post_type, COUNT(*) {_newer(kind, production, environment)}"
        f" AND p.post_type NOT IN ({left_out}) AND p.post_status <> 'auto-draft'"
        f" GROUP BY p.post_type ORDER BY p.post_type LIMIT {MAX_TYPES:d}"
    )
    return [
        NewerRows(f"posts of the type {name!s:.40}", int(count or 0), name in POST_TYPES)
        for name, count in rows
    ]


def _newer(kind: _Kind, production: str, environment: str) -> str:
    table, key, created = quote_name(PREFIX + kind.table), quote_name(kind.key), quote_name(kind.created)
    changed = f" OR p.{quote_name(kind.changed)} > e.{quote_name(kind.changed)}" if kind.changed else ""
    return (
        f"FROM {quote_name(production)}.{table} p LEFT JOIN {quote_name(environment)}.{table} e"
        f" ON e.{key} = p.{key} WHERE (e.{key} IS NULL OR NOT e.{created} <=> p.{created}{changed})"
    )


def _list_columns(connection: Connection, schema: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for table, column in connection.execute(
        "SELECT c.table_name, c.column_name FROM information_schema.columns c"
        " JOIN information_schema.tables t USING (table_schema, table_name)"
        " WHERE c.table_schema = %s AND t.table_type = 'BASE TABLE'",
        [schema],
    ):
        found.setdefault(str(table), set()).add(str(column))
    return found
