"""The page where people let a device sign in: without scripts, and without a session in the browser.

People type their password on the first page. The second one contains a sealed ticket that says who they are,
for which code, and until when; nothing else is stored.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from html import escape
from urllib.parse import parse_qs

from stead.control.accounts import password_checks
from stead.control.accounts import service as accounts
from stead.control.accounts.page_sign_ins import check_password
from stead.control.accounts.rules import Account
from stead.control.devices import service
from stead.control.devices.rules import (
    KEY_DAYS,
    PATH,
    DeviceAuthorization,
    DeviceCodeNotFound,
    normalize_user_code,
)
from stead.control.engines.postgres import DATABASE_FAILED, Tx
from stead.control.feature import ApiServices
from stead.control.http.error_pages import page
from stead.control.http.requests import Request
from stead.control.http.web import HtmlResponse, Route, WebRequest, WebResponse, form_headers
from stead.control.outbox import audit
from stead.control.outbox.audit import Actor, AuditEntry
from stead.control.sealing import SealBroken, Sealer
from stead.shared.errors import (
    AccountSuspended,
    RateLimitExceeded,
    RequestMalformed,
    RequestTooLarge,
)
from stead.shared.ids import AccountId

MAX_BYTES = 8 * 1024
MAX_FIELD = 1024
TICKET_LIFETIME = timedelta(minutes=5)
_CONTEXT = b"device consent"
_INCORRECT = "The email address or the password is incorrect."
_UNREADABLE = "The form could not be read."
_UNAVAILABLE = "Signing in does not work at the moment. Try again later."
_TOO_LATE = "That took too long. Sign in again."
_HEADERS = form_headers("'self'")

Form = Mapping[str, str]


class _Refused(Exception):
    """The message is for the person who signs in."""

    def __init__(self, message: str, status: int = 403) -> None:
        super().__init__(message)
        self.status = status


def consent_routes(services: ApiServices) -> Sequence[Route]:
    async def show(request: WebRequest) -> WebResponse:
        return _ask_to_sign_in(request.query_params.get("code", ""))

    async def send(request: WebRequest) -> WebResponse:
        form: Form = {}
        try:
            read = Request(request.scope, request.receive)
            form = _read_form(await read.body(MAX_BYTES))
            if "ticket" in form:
                return await _decide(services, form)
            return await _sign_in(services, read, form)
        except _Refused as refused:
            problem, status = str(refused), refused.status
        except RateLimitExceeded as limited:
            problem, status = str(limited), 429
        except (RequestMalformed, RequestTooLarge):
            problem, status = _UNREADABLE, 400
        except DATABASE_FAILED:
            problem, status = _UNAVAILABLE, 503
        return _ask_to_sign_in(form.get("code", ""), problem, status)

    return [Route(PATH, show, methods=["GET"]), Route(PATH, send, methods=["POST"])]


async def _sign_in(services: ApiServices, request: Request, form: Form) -> WebResponse:
    """The first page: who it is, and which device."""
    email, code = form.get("email", ""), form.get("code", "")
    address = services.authenticator.client_address(request)
    try:
        account = await check_password(services, email, form.get("password", ""), address)
        async with services.database.transaction() as tx:
            if account is None or not await password_checks.accept(tx, account):
                raise _Refused(_INCORRECT)
            found = await service.find(tx, services.limiter, account.id, code)
            await _record(tx, "device_authorization_sign_in", account)
            ticket = _seal(services.sealer, account, found.user_code, tx.now + TICKET_LIFETIME)
    except (AccountSuspended, DeviceCodeNotFound) as refused:
        raise _Refused(f"{refused}") from None
    return _ask_to_approve(account, found, ticket)


async def _decide(services: ApiServices, form: Form) -> WebResponse:
    """The second page: yes or no."""
    async with services.database.transaction() as tx:
        owner, mark, code = _open(services.sealer, form["ticket"], tx.now)
        account = await accounts.find(tx, owner)
        if account is None or account.suspended_at is not None or account.closed_at is not None:
            raise _Refused(_TOO_LATE)
        if mark != service.password_mark(account).hex():
            raise _Refused(_TOO_LATE)
        caller = accounts.owner_principal(account)
        try:
            if form.get("decision") != "approve":
                await service.deny(tx, caller, code)
                await _record(tx, "device_authorization_deny", account)
                return _finish("The device was not let in", "Nothing else needs to be done.")
            await service.approve(tx, caller, code)
        except DeviceCodeNotFound as refused:
            raise _Refused(f"{refused} {refused.remedy}") from None
        await _record(tx, "device_authorization_approve", account)
    return _finish("The device is signed in", "You can close this page, and go on at the device.")


async def _record(tx: Tx, event: str, account: Account) -> None:
    await audit.record(tx, event, "success", AuditEntry(Actor("member", account.id, account.email)))


def _seal(sealer: Sealer, account: Account, code: str, until: datetime) -> str:
    """A ticket is worth nothing after the password was changed."""
    mark = service.password_mark(account).hex()
    plain = json.dumps([account.id, mark, code, until.timestamp()]).encode()
    return base64.urlsafe_b64encode(sealer.seal(plain, context=_CONTEXT)).decode()


def _open(sealer: Sealer, ticket: str, now: datetime) -> tuple[AccountId, str, str]:
    try:
        sealed = base64.urlsafe_b64decode(ticket.encode())
        account, mark, code, until = json.loads(sealer.open(sealed, context=_CONTEXT))
    except (SealBroken, ValueError):
        raise _Refused(_TOO_LATE) from None
    if now.timestamp() > until:
        raise _Refused(_TOO_LATE)
    return AccountId(account), mark, code


def _read_form(body: bytes) -> Form:
    try:
        form = parse_qs(body.decode(), max_num_fields=10)
    except ValueError:
        raise RequestMalformed(reason="it is not a form") from None
    fields = {name: values[0] for name, values in form.items()}
    if any(len(value) > MAX_FIELD or "\0" in value for value in fields.values()):
        raise RequestMalformed(reason="a field is too long")
    return fields


def _ask_to_sign_in(code: str, problem: str = "", status: int = 200) -> WebResponse:
    shown = escape(normalize_user_code(code)) if code else ""
    note = f'<p role="alert">{escape(problem)}</p>' if problem else ""
    content = (
        f"<h1>Let a device sign in</h1>{note}"
        "<p>Type the code that the device shows. Go on only if you have started this yourself.</p>"
        '<form method="post"><p><label>Code<input name="code" required autocomplete="off"'
        f' autocapitalize="characters" spellcheck="false" value="{shown}"></label></p>'
        '<p><label>Email address<input name="email" type="email" required autocomplete="username">'
        '</label></p><p><label>Password<input name="password" type="password" required'
        ' autocomplete="current-password"></label></p><button>Go on</button></form>'
    )
    return HtmlResponse(page("Sign in", content), status, headers=_HEADERS)


def _ask_to_approve(account: Account, found: DeviceAuthorization, ticket: str) -> WebResponse:
    facts = {
        "Code": found.user_code,
        "Device": found.machine_name,
        "It asks from": found.network,
        "Your account": account.email,
        "It may": ", ".join("everything" if each == "*" else each for each in found.scopes),
    }
    rows = "".join(f"<dt>{name}</dt><dd><code>{escape(value)}</code></dd>" for name, value in facts.items())
    content = (
        "<h1>Let this device sign in?</h1><p>Compare the code with the one on the device. If you have not"
        f" started this yourself, deny it.</p><dl>{rows}</dl><p>The device gets an API key for {KEY_DAYS}"
        ' days. You can revoke it at any time.</p><form method="post">'
        f'<input type="hidden" name="ticket" value="{escape(ticket)}">'
        f'<input type="hidden" name="code" value="{escape(found.user_code)}">'
        '<button name="decision" value="approve">Approve</button>'
        ' <button name="decision" value="deny">Deny</button></form>'
    )
    return HtmlResponse(page("Approve", content), headers=_HEADERS)


def _finish(title: str, text: str) -> WebResponse:
    return HtmlResponse(page(title, f"<h1>{title}</h1><p>{text}</p>"), headers=_HEADERS)
