"""`/session`: browsers sign in and out. The token is in a cookie, and in no response."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from stead.control.accounts import service
from stead.control.accounts.operations import MAX_USER_AGENT
from stead.control.accounts.page_sign_ins import check_password
from stead.control.accounts.rules import SignInClient, normalize_email
from stead.control.accounts.schema import SignIn
from stead.control.engines.postgres import DATABASE_UNREACHABLE, StatementTimeout, Tx
from stead.control.feature import ApiServices
from stead.control.http.browser_sessions import clear_cookie, cookie_token, require_own_page, set_cookie
from stead.control.http.client_address import network_of
from stead.control.http.requests import Request
from stead.control.http.responses import error_response
from stead.control.http.web import Route, WebRequest, WebResponse
from stead.control.outbox import audit
from stead.control.outbox.audit import Actor, AuditEntry
from stead.shared import secrets
from stead.shared.errors import ApiError, RequestMalformed, TookTooLong, Unavailable
from stead.shared.ids import AccountId

Handler = Callable[[ApiServices, Request], Awaitable[WebResponse]]

PATH = "/session"
MAX_BYTES = 8 * 1024
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def session_routes(services: ApiServices) -> Sequence[Route]:
    async def sign_in(request: WebRequest) -> WebResponse:
        return await _answer(_sign_in, services, request)

    async def sign_out(request: WebRequest) -> WebResponse:
        return await _answer(_sign_out, services, request)

    return [Route(PATH, sign_in, methods=["POST"]), Route(PATH, sign_out, methods=["DELETE"])]


async def _answer(handle: Handler, services: ApiServices, web: WebRequest) -> WebResponse:
    """Errors have the envelope of the API."""
    request = Request(web.scope, web.receive)
    try:
        require_own_page(request)
        return await handle(services, request)
    except DATABASE_UNREACHABLE:
        error: ApiError = Unavailable()
    except StatementTimeout:
        error = TookTooLong()
    except ApiError as refused:
        error = refused
    refusal = error_response(error, request.id, services.settings.docs)
    headers = {name.decode(): value.decode() for name, value in refusal.headers}
    return _json(refusal.body, refusal.status, headers)


async def _sign_in(services: ApiServices, request: Request) -> WebResponse:
    try:
        attempt = msgspec.json.decode(await request.body(MAX_BYTES), type=SignIn)
    except msgspec.DecodeError:
        raise RequestMalformed(reason="it is not the JSON of a sign-in") from None
    address = services.authenticator.client_address(request)
    network = network_of(address)
    agent = request.header(b"user-agent")[:MAX_USER_AGENT]
    account = await check_password(services, attempt.email, attempt.password, address)
    async with services.database.transaction() as tx:
        session = await service.sign_in(tx, account, SignInClient(str(address), network, agent))
        actor = Actor("member", AccountId(session.account_id), normalize_email(attempt.email))
        entry = AuditEntry(actor)
        entry.note(session_id=session.id)
        await audit.record(tx, "session_create", "success", entry)
        await _end_session(tx, cookie_token(request))
    await services.invalidator.publish(tx.invalidations)
    seconds = int((session.expires_at - session.created_at).total_seconds())
    body = {
        "data": {"id": session.id, "account_id": session.account_id, "expires_at": session.expires_at},
        "request_id": request.id,
    }
    return _json(msgspec.json.encode(body), 201, {"Set-Cookie": set_cookie(session.token, seconds)})


async def _sign_out(services: ApiServices, request: Request) -> WebResponse:
    async with services.database.transaction() as tx:
        await _end_session(tx, cookie_token(request))
    await services.invalidator.publish(tx.invalidations)
    return WebResponse(status_code=204, headers={**_HEADERS, "Set-Cookie": clear_cookie()})


async def _end_session(tx: Tx, token: str | None) -> None:
    """The one that the browser has, if any."""
    if token is None or secrets.family_of(token) != "stead_session":
        return
    caller = await service.principal_of_session(tx, secrets.digest(token))
    if caller is not None:
        await service.sign_out(tx, caller)
        await audit.record(tx, "session_revoke", "success", AuditEntry(Actor.of(caller)))


def _json(body: bytes, status: int, headers: Mapping[str, str]) -> WebResponse:
    return WebResponse(body, status, {**_HEADERS, **headers}, media_type="application/json")
