"""Runs one operation. Every request passes the same checks in the same order:

credential (401) → rate limits (429) → visibility of every path resource (404) → mode, scope and role (403)
→ capability (409) → body and query (400) → idempotency → handler → audit → commit.

The order ensures that no response reveals a resource that the caller may not see. Changes, audit entry and
recorded response are committed in one transaction. A handler that has to wait for another program returns
`Later`: then what it waits for comes between two transactions.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import msgspec

from stead.control.engines.postgres import Database, Tx
from stead.control.http import idempotency
from stead.control.http.authentication import Authenticator
from stead.control.http.browser_sessions import require_recent_sign_in
from stead.control.http.context import ApiContext
from stead.control.http.inputs import BodyReader, QueryReader, query_values, shape_name
from stead.control.http.open_streams import OpenStream, OpenStreams
from stead.control.http.operations import (
    BodyInput,
    Call,
    Document,
    Later,
    Operation,
    PageInput,
    PathInput,
    PublicCall,
    QueryInput,
    ResourceInput,
    Stream,
)
from stead.control.http.principal import Principal
from stead.control.http.principal_cache import PrincipalCacheInvalidator
from stead.control.http.rate_limits import Limiter
from stead.control.http.requests import Request
from stead.control.http.responses import ApiResponse, Header, deprecation, error_response, wrap, wrap_page
from stead.control.http.version_changes import History
from stead.control.http.visibility import Capable, Governed, Resolvers
from stead.control.outbox import audit
from stead.control.outbox.audit import Actor, AuditEntry
from stead.control.sealing import Sealer
from stead.shared.errors import (
    AccountNotFound,
    ApiError,
    CapabilityUnsupported,
    FieldInvalid,
    Forbidden,
    ModeInsufficient,
    NotFound,
    RateLimitExceeded,
    RoleInsufficient,
    ScopeInsufficient,
)
from stead.shared.roles import MASK
from stead.shared.versions import LATEST

_REPLAYED = (b"idempotent-replayed", b"true")
_PUBLIC_CALLS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class EndpointDependencies:
    """What every endpoint uses.

    Public operations need no account. `public_slots` limits how many run at once, so that they cannot occupy
    all database connections.
    """

    resolvers: Resolvers
    database: Database
    limiter: Limiter
    authenticator: Authenticator
    invalidator: PrincipalCacheInvalidator
    sealer: Sealer
    context: ApiContext
    streams: OpenStreams
    public_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_PUBLIC_CALLS_AT_ONCE))


@dataclass(frozen=True, slots=True)
class _Unfinished:
    """A mutation that goes on after its first transaction."""

    later: Later[Any]
    record_key: idempotency.RecordKey | None
    entry: AuditEntry
    audit_id: str | None


class Endpoint:
    def __init__(self, operation: Operation, dependencies: EndpointDependencies) -> None:
        self.operation, self._dependencies = operation, dependencies
        self._resources = [
            (each.name, dependencies.resolvers[each.type]) for each in operation.inputs_of(ResourceInput)
        ]
        self._path_inputs = [each.name for each in operation.inputs_of(PathInput)]
        body = operation.input_of(BodyInput)
        self._body = BodyReader(body) if body else None
        self._query = QueryReader(operation)
        self._filters = operation.input_of(QueryInput)
        self._page = operation.input_of(PageInput)
        self._has_inputs = bool(self._path_inputs or self._body or self._filters or self._page)
        self._history = History(shape_name(operation.shape))
        self._body_history = History(shape_name(body.type)) if body else History(None)

    async def handle(self, request: Request, path: Mapping[str, str], version: date) -> ApiResponse:
        operation, dependencies = self.operation, self._dependencies
        if operation.response_kind == "document":
            return _document(operation.status, await operation.handler(), request)
        if operation.requires.public:
            return await self._handle_public(request, path, version)
        caller = await dependencies.authenticator.authenticate(request, operation.rate)
        require_allowed(request)
        if operation.method == "GET":
            async with dependencies.database.reading() as tx:
                call = self._make_call(tx, request, caller, AuditEntry())
                values = await self._prepare(call, path, b"", version)
                result = await operation.handler(call, **values)
                if isinstance(result, Stream):
                    if request.method == "HEAD":
                        await result.frames.aclose()
                        return ApiResponse(operation.status, is_event_stream=True)
                    return self._open_stream(call, result, path, version)
            # Whatever it waits for now, it keeps no connection.
            return self._render(await result.ask() if isinstance(result, Later) else result, request, version)
        raw = await request.body() if self._body or operation.takes_idempotency_key else b""
        entry = AuditEntry(Actor.of(caller), meta=dict(path))
        try:
            async with dependencies.database.transaction() as tx:
                call = self._make_call(tx, request, caller, entry)
                response = await self._mutate(call, path, raw, version)
        except Forbidden:
            await self._record_denial(entry)
            raise
        await self._invalidate_cache(tx)
        if isinstance(response, _Unfinished):
            return await self._finish(request, response, version)
        return response

    async def _finish(self, request: Request, unfinished: "_Unfinished", version: date) -> ApiResponse:
        """The part of a mutation that waits for another program."""
        dependencies, later, key = self._dependencies, unfinished.later, unfinished.record_key
        try:
            result = await later.ask()
            async with dependencies.database.transaction() as tx:
                response = self._render(await later.conclude(tx, result), request, version)
                await self._record_outcome(tx, unfinished, "success")
                if key is not None:
                    await self._record(tx, key, response)
        except ApiError as error:
            await self._give_up(request, unfinished, error)
            raise
        await self._invalidate_cache(tx)
        return response

    async def _give_up(self, request: Request, unfinished: "_Unfinished", error: ApiError) -> None:
        """A request that may have changed something stays in the audit trail, and a repetition of it is not
        carried out. If the other program was silent, a repetition waits until that has surely ended."""
        key, id_ = unfinished.record_key, unfinished.audit_id
        may_be_made = error.outcome_unknown and unfinished.later.finish is None
        async with self._dependencies.database.transaction() as tx:
            if key is not None and not may_be_made:
                await idempotency.forget(tx, key)
            elif key is not None and "retry-after" not in error.headers:
                docs_url = self._dependencies.context.docs_url
                await self._record(tx, key, error_response(error, request.id, docs_url))
            if isinstance(error, Forbidden):
                await self._record_outcome(tx, unfinished, "denied")
            elif id_ is not None and not may_be_made:
                await audit.withdraw(tx, id_)

    async def _record_outcome(self, tx: Tx, unfinished: "_Unfinished", outcome: audit.Outcome) -> None:
        if unfinished.audit_id is not None:
            await audit.finish(tx, unfinished.audit_id, outcome, unfinished.entry)
        else:
            await audit.record(tx, self.operation.audit, outcome, unfinished.entry)

    async def _record(self, tx: Tx, key: idempotency.RecordKey, response: ApiResponse) -> None:
        recorded = idempotency.RecordedResponse(response.status, response.body, response.headers)
        await idempotency.record(tx, self._dependencies.sealer, key, recorded)

    def _make_call(self, tx: Tx, request: Request, caller: Principal, entry: AuditEntry) -> Call:
        dependencies = self._dependencies
        return Call(
            tx, request, dependencies.limiter, dependencies.sealer, caller, entry, dependencies.context
        )

    def _open_stream(self, call: Call, result: Stream, path: Mapping[str, str], version: date) -> ApiResponse:
        request, dependencies = call.request, self._dependencies
        opened = OpenStream(
            call.caller,
            dependencies.authenticator.client_address(request),
            request.path,
            result.frames,
            lambda: self._authorize_again(request, path, version),
            request.rate_limit.marks if request.rate_limit else None,
        )
        dependencies.streams.add(opened)
        return ApiResponse(self.operation.status, stream=opened)

    async def _authorize_again(self, request: Request, path: Mapping[str, str], version: date) -> None:
        dependencies = self._dependencies
        caller = await dependencies.authenticator.authenticate_again(request)
        async with dependencies.database.reading() as tx:
            call = self._make_call(tx, request, caller, AuditEntry())
            await self._prepare(call, path, b"", version)

    async def _handle_public(self, request: Request, path: Mapping[str, str], version: date) -> ApiResponse:
        dependencies, operation = self._dependencies, self.operation
        raw = await request.body() if self._body else b""
        async with dependencies.public_slots, dependencies.database.transaction() as tx:
            address = dependencies.authenticator.client_address(request)
            call = PublicCall(
                *(tx, request, dependencies.limiter, dependencies.sealer),
                *(address, AuditEntry(), dependencies.context),
            )
            values = self._read_inputs(request, path, raw, version)
            result = await operation.handler(call, **values)
            if not isinstance(result, Later):
                response = await self._end_public(call, tx, result, version)
        if isinstance(result, Later):
            asked = await result.ask()
            async with dependencies.public_slots, dependencies.database.transaction() as tx:
                response = await self._end_public(call, tx, await result.conclude(tx, asked), version)
        await self._invalidate_cache(tx)
        return response

    async def _end_public(self, call: PublicCall, tx: Tx, result: Any, version: date) -> ApiResponse:
        response = self._render(result, call.request, version)
        await audit.record(tx, self.operation.audit, "success", call.audit)
        return response

    async def _invalidate_cache(self, tx: Tx) -> None:
        if tx.invalidations:
            await self._dependencies.invalidator.publish(tx.invalidations)

    async def _record_denial(self, entry: AuditEntry) -> None:
        """Record a refused attempt in a new transaction: the transaction of the attempt was rolled back."""
        async with self._dependencies.database.transaction() as tx:
            await audit.record(tx, self.operation.audit, "denied", entry)

    async def _mutate(
        self, call: Call, path: Mapping[str, str], raw: bytes, version: date
    ) -> "ApiResponse | _Unfinished":
        request, operation = call.request, self.operation
        try:
            values = await self._prepare(call, path, raw, version)
        except NotFound:
            replayed = await self._replay_deletion(call, raw)
            if replayed is None:
                raise
            return replayed
        record_key = self._record_key(call, raw)
        replayed = await self._replay(call, record_key)
        if replayed is not None:
            return replayed
        result = await operation.handler(call, **values)
        if isinstance(result, Later):
            if record_key is not None:
                await idempotency.begin(call.tx, record_key)
            # What `finish` changes is committed together with its row.
            changes_here = result.finish is not None
            audit_id = None if changes_here else await audit.begin(call.tx, operation.audit, call.audit)
            return _Unfinished(result, record_key, call.audit, audit_id)
        response = self._render(result, request, version)
        await audit.record(call.tx, operation.audit, "success", call.audit)
        if record_key is not None:
            await self._record(call.tx, record_key, response)
        return response

    def _record_key(self, call: Call, raw: bytes) -> idempotency.RecordKey | None:
        request = call.request
        if not self.operation.takes_idempotency_key or not request.has_header(b"idempotency-key"):
            return None
        key = request.header(b"idempotency-key")
        return idempotency.record_key(call.caller, request.method, request.path, key, request.query, raw)

    async def _replay(self, call: Call, key: idempotency.RecordKey | None) -> ApiResponse | None:
        recorded = await idempotency.claim(call.tx, self._dependencies.sealer, key) if key else None
        if recorded is None:
            return None
        return ApiResponse(recorded.status, recorded.body, [*recorded.headers, _REPLAYED])

    async def _replay_deletion(self, call: Call, raw: bytes) -> ApiResponse | None:
        """What the first request with this key was answered, if its job has deleted the resource since. That
        reveals nothing: it was the same account, with the same permissions."""
        if self.operation.method != "DELETE":
            return None
        with suppress(FieldInvalid):
            return await self._replay(call, self._record_key(call, raw))
        return None

    async def _prepare(
        self, call: Call, path: Mapping[str, str], raw: bytes, version: date
    ) -> dict[str, Any]:
        """Check the request and return the handler's arguments."""
        operation = self.operation
        if operation.account_wide and call.caller.pin is not None:
            raise AccountNotFound
        values = {name: await find(call, path) for name, find in self._resources}
        self._authorize(call, path, values)
        if operation.capability is not None:
            for resource in values.values():
                if isinstance(resource, Capable) and not resource.supports(operation.capability):
                    raise CapabilityUnsupported(capability=operation.capability)
        if self._has_inputs:
            values.update(self._read_inputs(call.request, path, raw, version))
        return values

    def _authorize(self, call: Call, path: Mapping[str, str], resources: Mapping[str, Any]) -> None:
        """Require the mode, then the scope twice: the credential must hold it, and the caller's role must
        allow it."""
        operation, entry = self.operation, call.audit
        roles = []
        for resource in resources.values():
            if isinstance(resource, Governed):
                role, entry.team_id, entry.site_id = resource.governance()
                roles.append(role)
        if call.caller.mode == "test" and not operation.test_keys:
            raise ModeInsufficient
        missing = operation.requires.missing(call.caller.allowed)
        if missing is not None:
            raise ScopeInsufficient(scope=missing)
        if operation.recent_sign_in:
            require_recent_sign_in(call.request, call.caller, call.tx.now)
        own_account = path[operation.own_account_param] if operation.own_account_param else None
        if own_account == call.caller.account_id:
            return
        for role in roles:
            too_low = operation.role is not None and not role.is_at_least(operation.role)
            if too_low or operation.requires.missing(MASK[role]) is not None:
                raise RoleInsufficient(role=role)

    def _read_inputs(
        self, request: Request, path: Mapping[str, str], raw: bytes, version: date
    ) -> dict[str, Any]:
        values: dict[str, Any] = {name: path[name] for name in self._path_inputs}
        if self._body is not None:
            values["body"] = self._body.read(raw, version, request.header(b"content-type"))
        if self._filters is not None or self._page is not None:
            sent = query_values(request.query)
            filters = self._query.filters(sent) if self._filters is not None else None
            if self._filters is not None:
                values["query"] = filters
            if self._page is not None:
                values[self._page.name] = self._query.page(sent, request.path, filters)
        return values

    def _render(self, result: Any, request: Request, version: date) -> ApiResponse:
        operation = self.operation
        if operation.response_kind == "none":
            return ApiResponse(operation.status)
        if operation.shape_without_job is not None and isinstance(result, operation.shape_without_job):
            return ApiResponse(200, wrap(result, request.id))
        headers: list[Header] = []
        if operation.response_kind == "job":
            headers.append((b"location", result.links.self.encode()))
        if operation.tagged:
            headers.append((b"etag", f'"{result.etag}"'.encode()))
            if _matches(request.header(b"if-none-match"), result.etag):
                return ApiResponse(304, headers=headers)
            result = result.data
        data = result.items if operation.response_kind == "list" else result
        if version is not LATEST:
            changes = self._history.since(version)
            if changes:
                data = self._history.downgrade_response(msgspec.to_builtins(data), version)
            headers += deprecation(
                [*changes, *self._body_history.since(version)], self._dependencies.context.docs_url
            )
        if operation.response_kind == "list":
            return ApiResponse(operation.status, wrap_page(data, result, request.id), headers)
        return ApiResponse(operation.status, wrap(data, request.id), headers)


def _document(status: int, document: Document, request: Request) -> ApiResponse:
    """A client that has it is told so; one that can read gzip gets it compressed."""
    as_gzip = "gzip" in {
        coding.strip() for coding in request.header(b"accept-encoding").split(",") if ";" not in coding
    }
    etag = f"{document.etag}-gzip" if as_gzip else document.etag
    headers: list[Header] = [(b"etag", f'"{etag}"'.encode()), (b"vary", b"accept-encoding")]
    if _matches(request.header(b"if-none-match"), etag):
        return ApiResponse(304, headers=headers, stored=True)
    if not as_gzip:
        return ApiResponse(status, document.body, headers, stored=True)
    headers.append((b"content-encoding", b"gzip"))
    return ApiResponse(status, document.compressed, headers, stored=True)


def require_allowed(request: Request) -> None:
    """Refuse an authenticated request if one of its buckets is empty."""
    if request.rate_limit is not None and not request.rate_limit.allowed:
        raise RateLimitExceeded(seconds=request.rate_limit.retry_after)


def _matches(if_none_match: str, etag: str) -> bool:
    known = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return "*" in known or f'"{etag}"' in known
