"""Which web pages of other origins may call the API from a browser (CORS).

Such pages send credentials in a header, so a page can only use a credential that it already has. The cookie
of a session works only for pages of the API's own origin. Nothing is allowed unless the operator lists the
origin.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from stead.control.http.requests import Request
from stead.control.http.responses import Header

ANY = "*"
_REQUEST_HEADERS = b"Authorization, Content-Type, Api-Version, Idempotency-Key, If-None-Match, Last-Event-ID"
_RESPONSE_HEADERS = (
    b"Api-Version, Deprecation, ETag, Idempotent-Replayed, Link, Location, RateLimit, RateLimit-Policy,"
    b" Retry-After, Sunset, X-Api-Stability, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset,"
    b" X-Request-Id"
)
_VARY: Header = (b"vary", b"Origin")
_DAY = b"86400"


class OriginInvalid(ValueError):
    """A listed origin is not of the form `https://example.com`."""


@dataclass(frozen=True, slots=True)
class AllowedOrigins:
    origins: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "AllowedOrigins":
        return cls(frozenset(_origin(text) for text in texts))

    def headers(self, request: Request) -> list[Header]:
        """The headers of every response that let a page read it."""
        if not self.origins:
            return []
        origin = request.header(b"origin")
        if ANY in self.origins:
            allowed = b"*"
        elif origin in self.origins:
            allowed = origin.encode("latin-1")
        else:
            return [_VARY]
        return [
            (b"access-control-allow-origin", allowed),
            (b"access-control-expose-headers", _RESPONSE_HEADERS),
            _VARY,
        ]

    def preflight_headers(self, request: Request, methods: Iterable[str]) -> list[Header]:
        """The additional headers of a response to `OPTIONS`."""
        origin = request.header(b"origin")
        if not request.has_header(b"access-control-request-method"):
            return []
        if ANY not in self.origins and origin not in self.origins:
            return []
        return [
            (b"access-control-allow-methods", ", ".join(methods).encode()),
            (b"access-control-allow-headers", _REQUEST_HEADERS),
            (b"access-control-max-age", _DAY),
        ]


def _origin(text: str) -> str:
    """As browsers send it: without a path, and without the default port."""
    if text == ANY:
        return ANY
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise OriginInvalid(text) from None
    rest = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    if parts.scheme not in ("http", "https") or not parts.hostname or rest:
        raise OriginInvalid(text)
    default = {"http": 80, "https": 443}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if port in (None, default) else f":{port}")
