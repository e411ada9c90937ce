"""The errors of the API. Each is a class with a stable code, a status and a remedy."""

from collections.abc import Mapping
from typing import ClassVar

_CATALOG: dict[str, "type[ApiError]"] = {}


class ApiError(Exception):
    """`message` states the fact and may name arguments in braces. `remedy` tells the caller what to do."""

    type: ClassVar[str]
    status: ClassVar[int]
    code: ClassVar[str]
    message: ClassVar[str]
    remedy: ClassVar[str]
    outcome_unknown: bool = False
    """Whether a requested change may have been made nevertheless."""

    def __init_subclass__(cls) -> None:
        code = cls.__dict__.get("code")
        if code is None:
            return
        if code in _CATALOG:
            raise TypeError(f"two errors have the code {code}")
        _CATALOG[code] = cls

    def __init__(self, *, param: str | None = None, **facts: object) -> None:
        super().__init__(self.message.format_map(facts))
        self.param = param
        self.headers: Mapping[str, str] = {}


def catalog() -> list[type[ApiError]]:
    """Every declared error, sorted by type and code."""
    return sorted(_CATALOG.values(), key=lambda error: (error.type, error.code))


class InvalidRequest(ApiError):
    type, status = "invalid_request", 400


class Unauthenticated(ApiError):
    type, status = "authentication", 401


class Forbidden(ApiError):
    type, status = "permission", 403


class NotFound(ApiError):
    type, status = "not_found", 404


class Conflict(ApiError):
    type, status = "conflict", 409


class QuotaExceeded(ApiError):
    type, status = "quota_exceeded", 429


class RateLimited(ApiError):
    type, status = "rate_limit", 429


class ServerFault(ApiError):
    type, status = "api_error", 500


class RequestMalformed(InvalidRequest):
    code = "request.malformed"
    message = "The request cannot be read: {reason}."
    remedy = "Send a JSON object in UTF-8, as the operation's description shows."


class FieldInvalid(InvalidRequest):
    code = "request.field_invalid"
    message = "{reason}"
    remedy = "`param` names the field as a dotted path; its rules are in the operation's description."


class RequestTooLarge(InvalidRequest):
    status = 413
    code = "request.too_large"
    message = "The request body is larger than {limit} bytes."
    remedy = "Send less at once; files go through an upload, never through a JSON body."


class RequestHeadTooLarge(InvalidRequest):
    status = 431
    code = "request.head_too_large"
    message = "The path and the headers of the request are larger than {limit} bytes, or there are too many."
    remedy = "Send fewer and shorter headers. Wait for responses before you send more requests."


class RequestTimedOut(InvalidRequest):
    status = 408
    code = "request.timeout"
    message = "The request did not arrive in time."
    remedy = "Send the whole request at once. If that is what you do, look for a slow network or proxy."


class CursorInvalid(InvalidRequest):
    code = "request.cursor_invalid"
    message = "The cursor was not made by this list with these filters."
    remedy = "Send `next_cursor` back unchanged, with the same filters, or begin again without a cursor."


class VersionUnknown(InvalidRequest):
    code = "version.unknown"
    message = "There is no API version {version}."
    remedy = "Send one of the published dates in `Api-Version`, or leave the header out to get the latest."


class MethodNotAllowed(InvalidRequest):
    status = 405
    code = "route.method_not_allowed"
    message = "This address does not take {method}."
    remedy = "The `Allow` header lists the methods it takes."


class CredentialMissing(Unauthenticated):
    code = "auth.missing"
    message = "No credential was sent."
    remedy = "Send `Authorization: Bearer <API key>`."


class CredentialMalformed(Unauthenticated):
    code = "auth.malformed"
    message = "The credential is not one that this service could have issued."
    remedy = "Check that the whole secret was copied, from its `stead_` prefix to its last character."


class CredentialInvalid(Unauthenticated):
    code = "auth.invalid"
    message = "The credential is not known."
    remedy = "Check which installation the key belongs to, or mint a new one."


class CredentialExpired(Unauthenticated):
    code = "auth.expired"
    message = "The credential has expired."
    remedy = "Mint a new key, or sign in again."


class CredentialRevoked(Unauthenticated):
    code = "auth.revoked"
    message = "The credential was revoked."
    remedy = "Mint a new key, or sign in again."


class AccountSuspended(Unauthenticated):
    code = "auth.account_suspended"
    message = "The account was suspended by the operator."
    remedy = "Contact the operator of the service."


class AddressNotAllowed(Unauthenticated):
    code = "auth.ip_not_allowed"
    message = "This key may not be used from the address {address}."
    remedy = "Call from an address on the key's `ip_allowlist`, or mint a key with a wider list."


class ModeInsufficient(Forbidden):
    code = "mode.test"
    message = "A test credential cannot do this: it concerns more than test mode."
    remedy = "Use a live key or a session. A test key can change test sites, test keys and test endpoints."


class CrossSiteRefused(Forbidden):
    code = "auth.cross_site"
    message = "A browser's session works only for pages of this origin, and with JSON."
    remedy = "Programs send their credential in the `Authorization` header."


class SignInAgain(Forbidden):
    code = "auth.sign_in_again"
    message = "This needs a sign-in within the last ten minutes."
    remedy = "Sign in again in the browser, and repeat the request."


class ScopeInsufficient(Forbidden):
    code = "scope.insufficient"
    message = "This needs the scope {scope}, which the credential does not have."
    remedy = "Use a key that holds the scope named in the message."


class RoleInsufficient(Forbidden):
    code = "role.insufficient"
    message = "Your role in this team, {role}, does not allow that."
    remedy = "Ask an owner or an administrator of the team."


class AccountNotFound(NotFound):
    code = "account.not_found"
    message = "There is no such account, or it is not visible to this key."
    remedy = (
        "A pinned key sees only its pin, and cannot act for the account as a whole: use a key without one."
    )


class RouteNotFound(NotFound):
    code = "route.not_found"
    message = "There is nothing at this address."
    remedy = "Compare the path with the API description at `/v1/openapi.json`."


class IdempotencyKeyReused(Conflict):
    code = "idempotency.key_reused"
    message = "This Idempotency-Key was used for a different request in the last 24 hours."
    remedy = "Use a new key for a new request; repeat a request with exactly the same body."


class IdempotencyInFlight(Conflict):
    code = "idempotency.in_flight"
    message = "The first request with this Idempotency-Key is still being handled."
    remedy = "Wait a moment and send the same request again: it will replay the first one's answer."


class CapabilityUnsupported(Conflict):
    code = "capability.unsupported"
    message = "The runtime of this site does not support {capability}."
    remedy = "Ask `GET /v1/sites/{site_id}/capabilities` what the site can do."


class RateLimitExceeded(RateLimited):
    code = "rate_limit.exceeded"
    message = "Too many requests: wait {seconds} s."
    remedy = "Wait as long as `Retry-After` says; `GET /v1/rate-limits` shows every bucket."

    def __init__(self, *, seconds: int) -> None:
        super().__init__(seconds=seconds)
        self.headers = {"Retry-After": str(seconds)}


class StreamsExceeded(RateLimited):
    code = "rate_limit.streams"
    message = "There are already {limit} open streams of your {subject}."
    remedy = "Close streams that you no longer read, or poll the resource instead."

    def __init__(self, *, limit: int, subject: str) -> None:
        super().__init__(limit=limit, subject=subject)
        self.headers = {"Retry-After": "5"}


class ConnectionsExceeded(RateLimited):
    code = "rate_limit.connections"
    message = "There are too many connections from your address."
    remedy = "Close connections that you no longer use, or send several requests over one connection."

    def __init__(self) -> None:
        super().__init__()
        self.headers = {"Retry-After": "5"}


class Internal(ServerFault):
    code = "internal"
    message = "Something failed on our side."
    remedy = "Try again; if it goes on, send us the `request_id`."


class TookTooLong(ServerFault):
    status = 503
    code = "database.timeout"
    message = "The request took too long and was stopped. Nothing was changed."
    remedy = "Try again in a few seconds, and ask for less at once: a smaller `limit`, or more filters."

    def __init__(self) -> None:
        super().__init__()
        self.headers = {"Retry-After": "5"}


class Unavailable(ServerFault):
    status = 503
    code = "unavailable"
    message = "The service cannot reach its database right now."
    remedy = "Try again in a few seconds; a request with an `Idempotency-Key` is safe to repeat."

    def __init__(self) -> None:
        super().__init__()
        self.headers = {"Retry-After": "2"}
