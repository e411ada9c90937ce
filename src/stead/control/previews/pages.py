"""The page where members of a team sign in to see a protected preview. The edges link to it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import parse_qs

from stead.control.accounts import password_checks
from stead.control.accounts.page_sign_ins import check_password
from stead.control.configuration.preview_keys import PATH
from stead.control.engines.postgres import DATABASE_FAILED
from stead.control.feature import ApiServices
from stead.control.http.error_pages import page
from stead.control.http.requests import Request
from stead.control.http.web import HtmlResponse, Route, WebRequest, WebResponse, form_headers
from stead.control.previews import service
from stead.control.previews.rules import build_url, is_path
from stead.shared.errors import AccountSuspended, RateLimitExceeded, RequestMalformed, RequestTooLarge

MAX_BYTES = 8 * 1024
MAX_FIELD = 256
_HOST = re.compile(r"([a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+)(:[0-9]{1,5})?")
_INVALID = page("Not found", "<h1>This link is not valid</h1><p>Open the preview again.</p>")
_INCORRECT = "The email address or the password is incorrect."
_NOT_VISIBLE = "This account cannot see the preview. Ask its team to add you."
_TOO_MANY = "Too many attempts. Try again in a minute."
_UNREADABLE = "The form could not be read."
_UNAVAILABLE = "Signing in does not work at the moment. Try again later."


class _Refused(Exception):
    """The message is for the person who signs in."""


@dataclass(frozen=True)
class _Target:
    """The page that somebody wants to see, as the edge has described it in the link."""

    origin: str
    host: str
    path: str

    @classmethod
    def read(cls, query: Mapping[str, str]) -> "_Target | None":
        host, scheme = _HOST.fullmatch(query.get("host", "").lower()), query.get("scheme", "")
        path = query.get("to") or "/"
        if host is None or scheme not in ("http", "https") or not is_path(path):
            return None
        return cls(f"{scheme}://{host[0]}", host[1], path)


def sign_in_routes(services: ApiServices) -> Sequence[Route]:
    async def show(request: WebRequest) -> WebResponse:
        target = _Target.read(request.query_params)
        return _show_form(target) if target else HtmlResponse(_INVALID, 404, headers=_headers())

    async def sign_in(request: WebRequest) -> WebResponse:
        target = _Target.read(request.query_params)
        if target is None:
            return HtmlResponse(_INVALID, 404, headers=_headers())
        try:
            url = await _open_preview(services, Request(request.scope, request.receive), target)
        except _Refused as refused:
            return _show_form(target, str(refused), 403)
        except (RequestMalformed, RequestTooLarge):
            return _show_form(target, _UNREADABLE, 400)
        except RateLimitExceeded:
            return _show_form(target, _TOO_MANY, 429)
        except DATABASE_FAILED:
            return _show_form(target, _UNAVAILABLE, 503)
        return WebResponse(status_code=303, headers={**_headers(target), "Location": url})

    return [Route(PATH, show, methods=["GET"]), Route(PATH, sign_in, methods=["POST"])]


async def _open_preview(services: ApiServices, request: Request, target: _Target) -> str:
    email, password = _read_form(await request.body(MAX_BYTES))
    address = services.authenticator.client_address(request)
    try:
        account = await check_password(services, email, password, address)
    except AccountSuspended as refused:
        raise _Refused(str(refused)) from None
    async with services.database.transaction() as tx:
        if account is None or not await password_checks.accept(tx, account):
            raise _Refused(_INCORRECT)
        preview = await service.find_visible(tx, account, target.host)
        if preview is None:
            raise _Refused(_NOT_VISIBLE)
        token = await service.sign_in(tx, services.sealer, account, preview)
    return build_url(target.origin, token, target.path) if token else f"{target.origin}{target.path}"


def _read_form(body: bytes) -> tuple[str, str]:
    try:
        form = parse_qs(body.decode(), max_num_fields=10)
    except ValueError:
        raise RequestMalformed(reason="it is not a form") from None
    email, password = (form.get(name, [""])[0] for name in ("email", "password"))
    if len(email) > MAX_FIELD or len(password) > MAX_FIELD or "\0" in email:
        raise RequestMalformed(reason="a field is too long")
    return email, password


def _show_form(target: _Target, problem: str = "", status: int = 200) -> WebResponse:
    note = f"<p role=alert>{escape(problem)}</p>" if problem else ""
    content = (
        f"<h1>Sign in</h1><p><code>{escape(target.host)}</code> is for its team.</p>{note}"
        '<form method="post"><p><label>Email address<br><input name="email" type="email" required'
        ' autocomplete="username"></label></p><p><label>Password<br><input name="password" type="password"'
        ' required autocomplete="current-password"></label></p><button>Sign in</button></form>'
    )
    return HtmlResponse(page("Sign in", content), status, headers=_headers(target))


def _headers(target: _Target | None = None) -> dict[str, str]:
    """Browsers apply `form-action` also to the redirect after the form, which leads to the preview."""
    allowed = f"'self' {target.origin}" if target else "'none'"
    return form_headers(allowed)
