"""The envelopes and headers of all responses."""

from collections.abc import Iterable
from datetime import date
from email.utils import format_datetime
from typing import Any

import msgspec

from stead.control.http.open_streams import OpenStream
from stead.control.http.pagination import Page
from stead.control.http.rate_limits import RateLimitResult
from stead.control.http.version_changes import VersionChange
from stead.shared.errors import ApiError
from stead.shared.versions import VERSIONS, deprecated_at, sunset_at

Header = tuple[bytes, bytes]
JSON: Header = (b"content-type", b"application/json")
EVENT_STREAM: Header = (b"content-type", b"text/event-stream")

encode = msgspec.json.Encoder().encode


class Envelope(msgspec.Struct):
    data: Any
    request_id: str


class Pagination(msgspec.Struct):
    next_cursor: str | None
    has_more: bool


class ListEnvelope(msgspec.Struct):
    data: Any
    pagination: Pagination
    request_id: str


class ErrorBody(msgspec.Struct, omit_defaults=True):
    type: str
    message: str
    code: str
    doc_url: str
    param: str | None = None


class ErrorEnvelope(msgspec.Struct):
    error: ErrorBody
    request_id: str


class ApiResponse(msgspec.Struct):
    """A response. If it has a `stream`, its frames are sent instead of the body."""

    status: int
    body: bytes = b""
    headers: list[Header] = []
    stream: OpenStream | None = None
    is_event_stream: bool = False
    """Whether it is a stream, also if the frames are not sent because the request was `HEAD`."""
    stored: bool = False
    """Whether a client may store it, and asks whether it has changed before each use."""


_FIXED: dict[date, list[Header]] = {
    version: [
        JSON,
        (b"api-version", version.isoformat().encode()),
        (b"x-api-stability", b"preview"),
        (b"cache-control", b"no-store"),
    ]
    for version in VERSIONS
}


def wrap(data: Any, request_id: str) -> bytes:
    return encode(Envelope(data, request_id))


def wrap_page(items: Any, page: Page[Any], request_id: str) -> bytes:
    cursor = page.next_cursor
    return encode(ListEnvelope(items, Pagination(cursor, cursor is not None), request_id))


def error_body(error: ApiError, docs_url: str) -> ErrorBody:
    return ErrorBody(
        type=error.type,
        message=str(error),
        code=error.code,
        doc_url=doc_url(type(error), docs_url),
        param=error.param,
    )


def error_response(error: ApiError, request_id: str, docs_url: str) -> ApiResponse:
    body = error_body(error, docs_url)
    headers = [(name.lower().encode(), value.encode()) for name, value in error.headers.items()]
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    return ApiResponse(error.status, encode(ErrorEnvelope(body, request_id)), headers)


def doc_url(error: type[ApiError], docs_url: str) -> str:
    return f"{docs_url}/errors/{error.type}/{error.code}"


def headers_of(
    answer: ApiResponse, request_id: str, version: date, spent: RateLimitResult | None
) -> list[Header]:
    fixed = _FIXED[version]
    if answer.stream is not None or answer.is_event_stream:
        fixed = [EVENT_STREAM, *fixed[1:]]
    if answer.stored:
        fixed = [*fixed[:-1], (b"cache-control", b"no-cache")]
    headers = [*fixed, (b"x-request-id", request_id.encode())]
    if spent is not None:
        headers += spent.headers()
    if answer.headers:
        headers += answer.headers
    if answer.stream is not None or answer.is_event_stream:
        return headers
    if answer.status in (204, 304):
        return headers[1:]
    headers.append((b"content-length", b"%d" % len(answer.body)))
    return headers


def deprecation(changes: Iterable[VersionChange], docs_url: str) -> list[Header]:
    """The headers for a caller whose pinned version has an older shape."""
    oldest = min((change.since for change in changes), default=None)
    if oldest is None:
        return []
    return [
        (b"deprecation", b"@%d" % deprecated_at(oldest).timestamp()),
        (b"sunset", format_datetime(sunset_at(oldest), usegmt=True).encode()),
        (b"link", f'<{docs_url}/versions>; rel="deprecation"'.encode()),
    ]
