"""Looks for what attackers leave in the database of a WordPress site. Nothing there is changed.

Findings name a place that a person can open. What was there at the first scan of a site is taken as known.
"""

import hashlib
import re
import time
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from stead.mariadb.connection import Connection, StatementFailed, Value, connect
from stead.node.databases.names import quote_name
from stead.node.scanning.site_scan import FileFinding

MAX_FINDINGS = 100
MAX_ROWS = 2000
"""Of posts, and of options."""
MAX_SECONDS = 20.0
"""Of processor time, for all of them."""
_SECONDS = 60.0
_PIECE = 20_000
_HALF = 128 << 10
"""Of a longer row, the beginning and the end are checked."""
_READ_POST = (
    "SELECT IF(CHAR_LENGTH(post_content) <= %s, post_content, CONCAT(LEFT(post_content, %s), '\\n',"
    " RIGHT(post_content, %s))) FROM {schema}.wp_posts WHERE ID = %s"
)
_READ_OPTION = (
    "SELECT IF(CHAR_LENGTH(option_value) <= %s, option_value, CONCAT(LEFT(option_value, %s), '\\n',"
    " RIGHT(option_value, %s))) FROM {schema}.wp_options WHERE option_id = %s"
)
_KNOWN_HOSTS = (
    *("google.com", "googletagmanager.com", "google-analytics.com", "gstatic.com", "googleapis.com"),
    *(
        "youtube.com",
        "youtube-nocookie.com",
        "vimeo.com",
        "facebook.com",
        "facebook.net",
        "twitter.com",
        "x.com",
    ),
    *("instagram.com", "spotify.com", "soundcloud.com", "wordpress.com", "w.org", "wp.com", "tiktok.com"),
    *("stripe.com", "paypal.com", "openstreetmap.org", "cloudflare.com", "jsdelivr.net", "unpkg.com"),
)
_SCRIPT = re.compile(
    r"<script[^>]{0,300}\bsrc\s{0,3}=\s{0,3}[\"'\\]{0,3}(?:https?:)?//([a-z0-9.-]{3,253})[^>]{0,300}>",
    re.IGNORECASE,
)
_HIDDEN = re.compile(
    r"eval\s{0,3}\(\s{0,3}(?:atob|String\.fromCharCode|unescape)|document\.write\s{0,3}\(\s{0,3}(?:atob|unescape)"
    r"|fromCharCode\s{0,3}\((?:\s{0,3}\d{1,3}\s{0,3},){10}|<\?php\s|eval\s{0,3}\(\s{0,3}base64_decode",
    re.IGNORECASE,
)
_FRAME = re.compile(
    r"<iframe(?=[^>]{0,500}(?:display\s{0,2}:\s{0,2}none|width\s{0,2}=\s{0,2}[\"'\\]{0,3}[01][\"'\\\s>]|(?:left|top)\s{0,2}:\s{0,2}-\d{3}))"
    r"[^>]{0,500}src\s{0,3}=\s{0,3}[\"'\\]{0,3}(?:https?:)?//([a-z0-9.-]{3,253})",
    re.IGNORECASE,
)
_CRON_HOOK = re.compile(r"s:\d{1,3}:\"([A-Za-z0-9_./\\:-]{1,190})\";a:\d{1,3}:\{s:32:")
_SUSPICIOUS_HOOK = re.compile(
    r"eval|base64|shell|exec\b|^[a-f0-9]{16,}$|^[bcdfghjklmnpqrstvwxz]{8,}$", re.IGNORECASE
)


class Baseline(msgspec.Struct, frozen=True):
    """What the site had at its last scan."""

    administrators: tuple[str, ...] = ()
    loaded: tuple[str, ...] | None = None
    """Drop-ins and must-use plugins; None if they were not listed."""


def check_database(
    server: Path, schema: str, own_hosts: frozenset[str], baseline: Baseline | None
) -> tuple[list[FileFinding], Baseline, list[str]]:
    """The findings, what the site has now, and what could not be checked. Blocks. Raises StatementFailed and
    ServerUnavailable."""
    findings: list[FileFinding] = []
    with connect(server, answer_seconds=_SECONDS) as connection:
        connection.execute(f"SET max_statement_time = {_SECONDS:g}")
        tables = _Tables(connection, schema)
        # Rows of content come last: many harmless ones must not hide the others.
        administrators = tables.list_administrators()
        if baseline is not None:
            new = [each for each in administrators if each not in baseline.administrators]
            findings += [_finding("users", each, "database_new_administrator", each) for each in new]
        findings += tables.check_addresses(own_hosts)
        findings += tables.check_cron()
        content, failures = tables.check_content(own_hosts)
    return [*findings, *content][:MAX_FINDINGS], Baseline(tuple(administrators)), failures


class _Tables:
    def __init__(self, connection: Connection, schema: str) -> None:
        self._connection, self._schema = connection, schema

    def _rows(self, statement: str, *values: Value) -> list[tuple[Value, ...]]:
        """Customers may have removed tables."""
        filled = statement.replace("{schema}", quote_name(self._schema))
        try:
            return self._connection.execute(filled, values)
        except StatementFailed as error:
            if error.number in (1146, 1054):
                return []
            raise

    def check_content(self, own: frozenset[str]) -> tuple[list[FileFinding], list[str]]:
        """The findings, and what could not be checked. Rows are read one at a time: customers write them, and
        all of them together may need more memory than there is."""
        posts = self._rows(
            "SELECT ID, ID FROM {schema}.wp_posts WHERE post_type <> 'revision' AND (post_content LIKE %s"
            " OR post_content LIKE %s OR post_content LIKE %s) ORDER BY ID DESC LIMIT %s",
            *("%<script%", "%<iframe%", "%<?php%", MAX_ROWS),
        )
        options = self._rows(
            "SELECT option_id, LEFT(option_name, 200) FROM {schema}.wp_options WHERE (option_value LIKE %s"
            " OR option_value LIKE %s OR option_value LIKE %s) AND option_name NOT LIKE %s"
            " ORDER BY option_id DESC LIMIT %s",
            *("%<script%", "%<iframe%", "%eval(base64%", "\\_transient%", MAX_ROWS),
        )
        found: list[FileFinding] = []
        until = time.thread_time() + MAX_SECONDS
        for place, rows, read in (("options", options, _READ_OPTION), ("posts", posts, _READ_POST)):
            for id_, name in rows:
                if time.thread_time() > until:
                    return found, [f"database:{place}/*: there are too many rows that take long"]
                for (content,) in self._rows(read, *(2 * _HALF, _HALF, _HALF, id_)):
                    text = _text(content)
                    if signature := _judge(text, own):
                        found.append(_finding(place, _text(name), signature, text))
        return found, []

    def check_addresses(self, own: frozenset[str]) -> list[FileFinding]:
        """The platform sets the address of a site, so these have no effect. A change shows that somebody
        could write to the database."""
        rows = self._rows(
            "SELECT option_name, LEFT(option_value, 2000) FROM {schema}.wp_options"
            " WHERE option_name IN ('siteurl', 'home')"
        )
        changed = [
            (name, value) for name, value in rows if (urlsplit(_text(value)).hostname or "") not in own
        ]
        return [
            _finding("options", _text(name), "database_changed_address", _text(value))
            for name, value in changed
        ]

    def check_cron(self) -> list[FileFinding]:
        rows = self._rows(
            "SELECT LEFT(option_value, %s) FROM {schema}.wp_options WHERE option_name = 'cron'", 1 << 20
        )
        hooks = {hook for (value,) in rows for hook in _CRON_HOOK.findall(_text(value))}
        return [
            _finding("cron", hook, "database_suspicious_cron", hook)
            for hook in sorted(hooks)
            if _SUSPICIOUS_HOOK.search(hook)
        ]

    def list_administrators(self) -> list[str]:
        rows = self._rows(
            "SELECT u.user_login, u.ID FROM {schema}.wp_users u"
            " JOIN {schema}.wp_usermeta m ON m.user_id = u.ID WHERE m.meta_key = 'wp_capabilities'"
            " AND m.meta_value LIKE %s ORDER BY u.ID LIMIT 1000",
            '%"administrator"%',
        )
        return [f"{_text(login)[:60]} (user {_text(id_)})" for login, id_ in rows]


def _judge(text: str, own: frozenset[str]) -> str:
    """The signature; empty if the text is clean."""
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE + 1000]
        if _HIDDEN.search(piece):
            return "database_hidden_code"
        if any(not _is_known(host, own) for host in _FRAME.findall(piece)):
            return "database_hidden_frame"
        if any(not _is_known(host, own) for host in _SCRIPT.findall(piece)):
            return "database_unknown_script"
    return ""


def _is_known(host: str, own: frozenset[str]) -> bool:
    host = host.lower().rstrip(".")
    return host in own or any(host == each or host.endswith(f".{each}") for each in _KNOWN_HOSTS)


def _text(value: Value) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _finding(table: str, row: str, signature: str, content: str) -> FileFinding:
    digest = hashlib.sha256(f"{table}/{row}\0{content}".encode(errors="replace")).hexdigest()
    place = "".join(each for each in row if each.isprintable())[:200]
    return FileFinding(f"database:{table}/{place}", digest, signature, "database", movable=False)
