"""Which columns can contain URLs, and how the value of a column gets another host."""

import re

from stead.node.wordpress.php_serialized import looks_serialized
from stead.node.wordpress.url_replacement import ReplacementCounts, UrlReplacement

TEXT_TYPES = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
BINARY_TYPES = ("tinyblob", "blob", "mediumblob", "longblob", "binary", "varbinary")
NEVER_CHANGED = ("guid",)
"""The identity of a post, which feed readers remember."""
_BARE_HOSTS = {"domain": ("_blogs", "_site")}
"""Columns that contain a host and nothing else, with the ends of the names of their tables."""
_CONTROL = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f]")


def is_replaced(column: str, kind: str, *, in_primary_key: bool) -> bool:
    return kind in (*TEXT_TYPES, *BINARY_TYPES) and not in_primary_key and column not in NEVER_CHANGED


def replace_value(
    table: str,
    column: str,
    value: bytes,
    replacement: UrlReplacement,
    counts: ReplacementCounts,
    *,
    binary: bool,
) -> bytes:
    """Return the value with the new host. Adds to `counts`."""
    if column in _BARE_HOSTS and table.endswith(_BARE_HOSTS[column]) and value.lower() in replacement.old:
        return replacement.new
    if binary and not _is_text(value):
        counts.unsupported += 1
        return value
    return replacement.replace(value, counts)


def _is_text(value: bytes) -> bool:
    """Whether a binary value is text, or serialized by PHP. Other formats may contain lengths, which would
    become wrong."""
    if looks_serialized(value):
        return True
    try:
        value.decode()
    except UnicodeError:
        return False
    return _CONTROL.search(value) is None
