"""Looks for what attackers leave in the database of a WordPress site. Nothing there is changed.

Findings name a place that a person can open. What was there at the first scan of a site is taken as known.
Customers make tables, and views in their place: they are read as a user that can read nothing else.
"""

import hashlib
import re
import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from stead.mariadb.connection import StatementRefused
from stead.mariadb.data_directory import ServerUnavailable
from stead.node.scanning.findings import FileFinding

MAX_FINDINGS = 100
MAX_ROWS = 2000
"""Of posts, and of options."""
MAX_SECONDS = 20.0
"""Of processor time, for all of them."""
MAX_WAITING = 150.0
"""In all: a view can make each row slow."""
STATEMENT_SECONDS = 60
_MISSING = {1146, 1054}
"""Customers may have removed tables and columns."""
_CANNOT_SIGN_IN = {1044, 1045, 4151}
_PIECE = 20_000
_HALF = 128 << 10
"""Of a longer row, the beginning and the end are checked."""
_POSTS = (
    "SELECT ID, {part} FROM wp_posts WHERE post_type <> 'revision' AND (post_content LIKE '%<script%'"
    " OR post_content LIKE '%<iframe%' OR post_content LIKE '%<?php%') ORDER BY ID DESC LIMIT {rows}"
)
_OPTIONS = (
    "SELECT LEFT(option_name, 200), {part} FROM wp_options WHERE (option_value LIKE '%<script%'"
    " OR option_value LIKE '%<iframe%' OR option_value LIKE '%eval(base64%')"
    " AND option_name NOT LIKE '\\_transient%' ORDER BY option_id DESC LIMIT {rows}"
)
_ADDRESSES = (
    "SELECT option_name, LEFT(option_value, 2000) FROM wp_options WHERE option_name IN ('siteurl', 'home')"
    " LIMIT 10"
)
_ACTIVE = (
    "SELECT LEFT(option_value, 200000) FROM wp_options"
    " WHERE option_name IN ('active_plugins', 'template', 'stylesheet') LIMIT 10"
)
_CRON = "SELECT LEFT(option_value, 1000000) FROM wp_options WHERE option_name = 'cron' LIMIT 10"
_ADMINISTRATORS = (
    "SELECT u.user_login, u.ID FROM wp_users u JOIN wp_usermeta m ON m.user_id = u.ID"
    " WHERE m.meta_key = 'wp_capabilities' AND m.meta_value LIKE '%\"administrator\"%'"
    " ORDER BY u.ID DESC LIMIT 1000"
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
_SERIALIZED = re.compile(r's:\d{1,4}:"([^"]{1,400})"')
_SUSPICIOUS_HOOK = re.compile(
    r"eval|base64|shell|exec\b|^[a-f0-9]{16,}$|^[bcdfghjklmnpqrstvwxz]{8,}$", re.IGNORECASE
)


class Baseline(msgspec.Struct, frozen=True):
    """What the site had at its last scan."""

    administrators: tuple[str, ...] = ()
    loaded: tuple[str, ...] | None = None
    """Drop-ins and must-use plugins; None if they were not listed."""


class DatabaseReport(NamedTuple):
    findings: list[FileFinding]
    baseline: Baseline
    """What the site has now."""
    failures: list[str]
    """What could not be checked."""
    active: frozenset[str] | None
    """The plugins and themes that the site uses; None if that is not known."""


Row = tuple[object, ...]
Read = Callable[[str, Callable[[Row], bool], int], None]
"""Pass the rows of a statement on, until the function returns False; the statement has so many seconds.
Raises StatementRefused and ServerUnavailable."""


def check_database(read: Read, own_hosts: frozenset[str], baseline: Baseline | None) -> DatabaseReport:
    """Blocks. Raises ServerUnavailable."""
    tables = _Tables(read)
    # Rows of content come last: many harmless ones must not hide the others.
    administrators = tables.list_administrators()
    findings: list[FileFinding] = []
    if administrators is None:
        administrators = list(baseline.administrators) if baseline is not None else []
    elif baseline is not None:
        new = [each for each in administrators if each not in baseline.administrators]
        findings += [_finding("users", each, "database_new_administrator", each) for each in new]
    findings += tables.check_addresses(own_hosts)
    findings += tables.check_cron()
    findings += tables.check_content("options", _OPTIONS, "option_value", own_hosts)
    findings += tables.check_content("posts", _POSTS, "post_content", own_hosts)
    return DatabaseReport(
        findings[:MAX_FINDINGS], Baseline(tuple(administrators)), tables.failures, tables.list_active()
    )


class _Tables:
    """What the server refuses to read is a failure of that check, and of nothing else: whoever can write to
    the database must not prevent that files are scanned."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._until = time.monotonic() + MAX_WAITING
        self._processor_until = time.thread_time() + MAX_SECONDS
        self.failures: list[str] = []

    def _pass_on(self, place: str, statement: str, receive: Callable[[Row], bool]) -> bool:
        """Whether all rows were read."""
        seconds = min(STATEMENT_SECONDS, int(self._until - time.monotonic()))
        if seconds < 1:
            return self._fail(place, "there are too many rows that take long")
        try:
            self._read(statement, receive, seconds)
        except StatementRefused as refused:
            if refused.number in _CANNOT_SIGN_IN:
                raise ServerUnavailable("MariaDB does not let the scanner in") from None
            if refused.number not in _MISSING:
                return self._fail(place, f"MariaDB refused to read it (error {refused.number})")
        return True

    def _fail(self, place: str, reason: str) -> bool:
        self.failures.append(f"database:{place}: {reason}")
        return False

    def _rows(self, place: str, statement: str) -> list[Row] | None:
        """None if they could not be read."""
        rows: list[Row] = []

        def receive(row: Row) -> bool:
            rows.append(row)
            return True

        return rows if self._pass_on(place, statement, receive) else None

    def check_content(
        self, place: str, statement: str, column: str, own: frozenset[str]
    ) -> list[FileFinding]:
        """Rows are read one at a time: customers write them, and all of them together may need more memory
        than there is."""
        found: list[FileFinding] = []

        def receive(row: Row) -> bool:
            if time.thread_time() > self._processor_until or time.monotonic() > self._until:
                return self._fail(f"{place}/*", "there are too many rows that take long")
            name, content = _text(row[0]), _text(row[1])
            if signature := _judge(content, own):
                found.append(_finding(place, name, signature, content))
            return len(found) < MAX_FINDINGS

        part = (
            f"IF(CHAR_LENGTH({column}) <= {2 * _HALF}, {column},"
            f" CONCAT(LEFT({column}, {_HALF}), '\n', RIGHT({column}, {_HALF})))"
        )
        self._pass_on(f"{place}/*", statement.format(part=part, rows=MAX_ROWS), receive)
        return found

    def check_addresses(self, own: frozenset[str]) -> list[FileFinding]:
        """The platform sets the address of a site, so these have no effect. A change shows that somebody
        could write to the database."""
        rows = [(_text(name), _text(value)) for name, value in self._rows("options", _ADDRESSES) or ()]
        return [
            _finding("options", name, "database_changed_address", value)
            for name, value in rows
            if _host_of(value) not in own
        ]

    def check_cron(self) -> list[FileFinding]:
        rows = self._rows("cron", _CRON) or []
        hooks = {hook for (value,) in rows for hook in _CRON_HOOK.findall(_text(value))}
        return [
            _finding("cron", hook, "database_suspicious_cron", hook)
            for hook in sorted(hooks)
            if _SUSPICIOUS_HOOK.search(hook)
        ]

    def list_active(self) -> frozenset[str] | None:
        rows = self._rows("options", _ACTIVE)
        if not rows:
            return None
        texts = [_text(value) for (value,) in rows]
        return frozenset(texts) | {name for text in texts for name in _SERIALIZED.findall(text)}

    def list_administrators(self) -> list[str] | None:
        """The newest first; None if they could not be read."""
        rows = self._rows("users", _ADMINISTRATORS)
        if rows is None:
            return None
        return [f"{_text(login)[:60]} (user {_text(id_)[:20]})" for login, id_ in rows]


def _host_of(address: str) -> str:
    """Empty if it is no address."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


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


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _finding(table: str, row: str, signature: str, content: str) -> FileFinding:
    digest = hashlib.sha256(f"{table}/{row}\0{content}".encode(errors="replace")).hexdigest()
    place = "".join(each for each in row if each.isprintable())[:200]
    return FileFinding(f"database:{table}/{place}", digest, signature, "database", movable=False)
