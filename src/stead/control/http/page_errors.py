"""Errors outside `/v1`: a page for browsers, the error envelope of the API for every other client."""

from collections.abc import Awaitable, Callable, Mapping
from html import escape

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from stead.control.http.error_pages import page
from stead.control.http.responses import JSON, ErrorEnvelope, encode, error_body
from stead.shared.errors import ApiError, Internal, MethodNotAllowed, RequestMalformed, RouteNotFound
from stead.shared.ids import new_id

Handler = Callable[[Request, Exception], Awaitable[Response]]


def error_handlers(docs_url: str, page_headers: Mapping[str, str]) -> dict[int | type[Exception], Handler]:
    async def respond(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            return _render(request, Internal(), docs_url, page_headers)
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = ", ".join(sorted({*_methods(headers.get("Allow", "GET")), "OPTIONS"}))
            if request.method == "OPTIONS":
                return Response(status_code=204, headers=headers)
        return _render(request, _api_error(error, request), docs_url, {**page_headers, **headers})

    return {HTTPException: respond, Exception: respond}


def prefers_html(accept: str) -> bool:
    """Browsers name HTML first. A client that accepts anything gets JSON."""
    html, json = _quality(accept, "text/html"), _quality(accept, "application/json")
    return html > 0 and html >= json


def _quality(accept: str, wanted: str) -> float:
    for part in accept.split(","):
        kind, *parameters = (each.strip() for each in part.split(";"))
        if kind.lower() != wanted:
            continue
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "q":
                try:
                    return float(value)
                except ValueError:
                    return 0.0
        return 1.0
    return 0.0


def _methods(allow: str) -> list[str]:
    return [each.strip() for each in allow.split(",") if each.strip()]


def _api_error(error: HTTPException, request: Request) -> ApiError:
    if error.status_code == 404:
        return RouteNotFound()
    if error.status_code == 405:
        return MethodNotAllowed(method=request.method)
    return (
        RequestMalformed(reason="this address does not understand it")
        if error.status_code < 500
        else Internal()
    )


def _render(request: Request, error: ApiError, docs_url: str, headers: Mapping[str, str]) -> Response:
    request_id = new_id("req")
    given = {**headers, "X-Request-Id": request_id, "Cache-Control": "no-store", "Vary": "Accept"}
    if prefers_html(request.headers.get("accept", "")):
        content = (
            f"<h1>{escape(str(error))}</h1><p>{escape(error.remedy)}</p>"
            f"<p>HTTP status {error.status}, request <code>{request_id}</code>.</p>"
        )
        return HTMLResponse(page(str(error), content), error.status, headers=given)
    body = encode(ErrorEnvelope(error_body(error, docs_url), request_id))
    return Response(body, error.status, headers=given, media_type=JSON[1].decode())
