"""The ASGI application under `/v1`: finds the operation, selects the API version, and always responds."""

import time
import traceback
from collections.abc import Iterable
from datetime import date

import structlog

from stead.control import metrics
from stead.control.engines.postgres import DATABASE_UNREACHABLE, StatementTimeout
from stead.control.http.access_log import AccessLog
from stead.control.http.cross_origin import AllowedOrigins
from stead.control.http.endpoint import Endpoint, EndpointDependencies, require_allowed
from stead.control.http.operations import Operation, rate_class_of
from stead.control.http.requests import Receive, Request, Scope, Send
from stead.control.http.responses import ApiResponse, error_response, headers_of
from stead.control.http.router import Router
from stead.control.http.streaming import stream
from stead.shared.errors import (
    ApiError,
    Internal,
    TookTooLong,
    Unauthenticated,
    Unavailable,
    VersionUnknown,
)
from stead.shared.versions import BY_NAME, LATEST

log = structlog.get_logger()

UNROUTED = "none"
_TRACE_FRAMES = 8


class Api:
    def __init__(
        self,
        operations: Iterable[Operation],
        dependencies: EndpointDependencies,
        access_log: AccessLog,
        origins: AllowedOrigins = AllowedOrigins(),  # noqa: B008 - immutable
    ) -> None:
        declared = list(operations)
        self._router = Router(declared)
        self._endpoints = {operation.id: Endpoint(operation, dependencies) for operation in declared}
        for operation in declared:
            # The first failure must be an increase for Prometheus.
            metrics.faults.labels(operation.id)
            metrics.statement_timeouts.labels(operation.id)
        self._origins = origins
        self._docs_url = dependencies.context.docs_url
        self._streams = dependencies.streams
        self._authenticator = dependencies.authenticator
        self._access_log = access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        request = Request(scope, receive)
        operation, version = UNROUTED, LATEST
        try:
            try:
                if request.method == "OPTIONS":
                    await self._send_options(request, send)
                    return
                found, path = self._router.find_segments(request.method, request.segments)
                operation = found.id
                version = _pinned_version(request)
            except ApiError:
                await self._count(request, operation)
                raise
            response = await self._endpoints[operation].handle(request, path, version)
        except ApiError as error:
            response = error_response(error, request.id, self._docs_url)
        except DATABASE_UNREACHABLE as error:
            metrics.database_unreachable.inc()
            log.warning("database.unreachable", operation=operation, reason=type(error).__name__)
            response = error_response(Unavailable(), request.id, self._docs_url)
        except StatementTimeout:
            metrics.statement_timeouts.labels(operation).inc()
            log.warning("database.timeout", request_id=request.id, operation=operation)
            response = error_response(TookTooLong(), request.id, self._docs_url)
        except Exception as error:  # noqa: BLE001 - every unexpected error becomes an error envelope
            response = self._report_fault(error, request, operation)
        headers = headers_of(response, request.id, version, request.rate_limit)
        headers += self._origins.headers(request)
        start = {"type": "http.response.start", "status": response.status, "headers": headers}
        if response.stream is None:
            await send(start)
            body = b"" if request.method == "HEAD" else response.body
            await send({"type": "http.response.body", "body": body})
        else:
            try:
                await send(start)
                await stream(response.stream, receive, send)
            finally:
                self._streams.remove(response.stream)
        self._access_log.record(request, operation, response.status, time.perf_counter() - started)

    async def _send_options(self, request: Request, send: Send) -> None:
        """Say which methods an address takes. This is the same for everyone, so it needs no credential."""
        methods = self._router.methods_at(request.segments)
        response = ApiResponse(204, headers=[(b"allow", ", ".join(methods).encode())])
        headers = headers_of(response, request.id, LATEST, None)
        headers += self._origins.headers(request) + self._origins.preflight_headers(request, methods)
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _count(self, request: Request, operation: str) -> None:
        """Count a request that reaches no operation, so that its response has the rate limit headers, too.

        Without a valid credential it is not counted: it is refused for what is wrong with its address.
        """
        endpoint = self._endpoints.get(operation)
        if not request.has_header(b"authorization") or (endpoint and endpoint.operation.requires.public):
            return
        rate = endpoint.operation.rate if endpoint else rate_class_of(request.method)
        try:
            await self._authenticator.authenticate(request, rate)
        except Unauthenticated:
            return
        require_allowed(request)

    def _report_fault(self, error: Exception, request: Request, operation: str) -> ApiResponse:
        """Log the type and the place of an unexpected error, but not its message: it may contain a secret."""
        metrics.faults.labels(operation).inc()
        frames = traceback.extract_tb(error.__traceback__)[-_TRACE_FRAMES:]
        log.error(
            "request.fault",
            request_id=request.id,
            operation=operation,
            error=type(error).__name__,
            at=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
        )
        return error_response(Internal(), request.id, self._docs_url)


def _pinned_version(request: Request) -> date:
    if not request.has_header(b"api-version"):
        return LATEST
    name = request.header(b"api-version")
    version = BY_NAME.get(name)
    if version is None:
        raise VersionUnknown(version=name[:40])
    return version
