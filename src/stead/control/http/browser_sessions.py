"""Sessions of browsers: the token is in a cookie that scripts cannot read.

A browser adds the cookie to requests by itself, also to those that a page elsewhere makes. So a request with
the cookie must come from our own pages, and carry JSON. A request with an `Authorization` header uses that,
whatever cookies it has.
"""

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from stead.control.http.principal import Principal
from stead.control.http.requests import Request
from stead.shared.errors import CrossSiteRefused, SignInAgain

COOKIE = "__Host-stead"
"""Browsers accept the prefix only for cookies of one host, over HTTPS, for all of its paths."""
RECENT = timedelta(minutes=10)
"""How long after signing in a browser may do what must not happen at somebody's open browser."""
_SAFE = ("GET", "HEAD", "OPTIONS")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def cookie_token(request: Request) -> str | None:
    """The token in the cookie, if the request has no other credential.

    Pages of sibling domains can set cookies too, and write what they like into them. So other cookies are not
    parsed: whatever they contain, this one is found.
    """
    if request.has_header(b"authorization") or not request.has_header(b"cookie"):
        return None
    pairs = (each.strip().partition("=") for each in request.header(b"cookie").split(";"))
    values = [value for name, _, value in pairs if name == COOKIE]
    return values[0] or None if len(values) == 1 else None


def require_own_page(request: Request) -> None:
    """Raise unless the request was made by a page of this origin."""
    site, origin = request.header(b"sec-fetch-site"), request.header(b"origin")
    if site and site != "same-origin":
        raise CrossSiteRefused
    if origin and not _is_own(origin, request.header(b"host")):
        raise CrossSiteRefused
    if request.method in _SAFE:
        return
    if not site and not origin:
        raise CrossSiteRefused
    kind = request.header(b"content-type").partition(";")[0].strip().lower()
    has_body = request.header(b"content-length") not in ("", "0") or request.has_header(b"transfer-encoding")
    if has_body and kind != "application/json":
        raise CrossSiteRefused


def _is_own(origin: str, host: str) -> bool:
    """Whoever can change what passes on the way can write a page of our host without TLS, but not with it."""
    url = urlsplit(origin)
    is_safe = url.scheme == "https" or url.hostname in _LOOPBACK
    return is_safe and url.netloc == host


def require_recent_sign_in(request: Request, caller: Principal, now: datetime) -> None:
    """Of a browser. Programs have no password to ask for."""
    if cookie_token(request) is None:
        return
    if caller.signed_in_at is None or caller.signed_in_at < now - RECENT:
        raise SignInAgain


def set_cookie(token: str, seconds: int) -> str:
    return f"{COOKIE}={token}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Lax"


def clear_cookie() -> str:
    return set_cookie("", 0)
