"""Which response headers a site may set."""

import re
from collections.abc import Mapping

from stead.artifacts.site_rules.rules import MAX_HEADERS_PER_RULE, HeaderRule, RuleRefused, parse_pattern

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}", re.ASCII)
_VALUE = re.compile(r"[\x20-\x7e]{1,4000}")
_OF_THE_EDGE = frozenset(
    {
        *("accept-ranges", "age", "allow", "alt-svc", "connection", "content-encoding", "content-length"),
        *("content-range", "date", "etag", "keep-alive", "last-modified", "location", "proxy-authenticate"),
        *("proxy-authorization", "proxy-connection", "public-key-pins", "retry-after", "server", "te"),
        *("trailer", "trailers", "transfer-encoding", "upgrade", "vary", "via", "x-cache", "x-trace-id"),
    }
)
_OWN_WAY = {
    "set-cookie": "cookies cannot be set here; a script of the page can set them",
    "strict-transport-security": "use the setting security.hsts_seconds",
    "clear-site-data": "it would also clear data of other sites under the same domain",
    "basic-auth": "protection by password is not supported in this file",
}


def check_header(name: str, value: str | None) -> tuple[str, str | None]:
    """A header that cannot break the connection, the cache, or another site."""
    lowered = name.lower()
    if not _NAME.fullmatch(name):
        raise RuleRefused(f"{_shown(name)} is not the name of a header")
    if lowered in _OWN_WAY:
        raise RuleRefused(f"{name}: {_OWN_WAY[lowered]}")
    if lowered in _OF_THE_EDGE or lowered.startswith(("x-stead-", "x-accel-", "proxy-")):
        raise RuleRefused(f"{name} is set by the server and cannot be changed")
    if value is not None and not _VALUE.fullmatch(value):
        raise RuleRefused(f"the value of {name} has 1 to 4000 printable ASCII characters")
    return name, value


def check_count(headers: list[tuple[str, str | None]]) -> tuple[tuple[str, str | None], ...]:
    if len(headers) > MAX_HEADERS_PER_RULE:
        raise RuleRefused(f"a rule has at most {MAX_HEADERS_PER_RULE} headers")
    return tuple(headers)


def parse_headers(path: str, values: Mapping[str, str | None]) -> HeaderRule:
    headers = [check_header(name, value) for name, value in values.items()]
    return HeaderRule(parse_pattern(path), check_count(headers))


def _shown(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name[:40])
