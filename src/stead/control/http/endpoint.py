"""One operation at work, always in the same order.

credential (401) → buckets (429) → visibility of every path resource (404) → scope and role (403) → capability
(409) → body and query (400) → idempotency → handler → audit → commit. So nothing leaks about what a caller
may not see, and rows, records and answers stand or fall together.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import msgspec

from stead.control.engines.postgres import Database, Tx
from stead.control.http import idempotency
from stead.control.http.authentication import Admission
from stead.control.http.context import Live
from stead.control.http.freshness import Freshness
from stead.control.http.inputs import BodyReader, QueryReader, query_values, shape_name
from stead.control.http.operations import (
    BodyInput,
    Call,
    Operation,
    PageInput,
    PathInput,
    QueryInput,
    ResourceInput,
    Visit,
)
from stead.control.http.rate_limits import Limiter
from stead.control.http.requests import Request
from stead.control.http.responses import Answer, Header, deprecation, wrap, wrap_page
from stead.control.http.version_changes import History
from stead.control.http.visibility import Capable, Governed, Resolvers
from stead.control.outbox import audit
from stead.control.outbox.audit import Actor, Trail
from stead.control.sealing import Sealer
from stead.shared.errors import (
    AccountNotFound,
    CapabilityUnsupported,
    Forbidden,
    RateLimitExceeded,
    RoleInsufficient,
    ScopeInsufficient,
)
from stead.shared.roles import MASK
from stead.shared.versions import LATEST

_REPLAYED = (b"idempotent-replayed", b"true")
_VISITS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Machinery:
    """What every endpoint runs on.

    Public operations check passwords, which is slow on purpose: `visits` keeps a crowd of them from holding
    the connections that everybody else needs.
    """

    resolvers: Resolvers
    database: Database
    limiter: Limiter
    admission: Admission
    freshness: Freshness
    sealer: Sealer
    live: Live
    visits: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_VISITS_AT_ONCE))


class Endpoint:
    def __init__(self, operation: Operation, machinery: Machinery) -> None:
        self.operation, self._machinery = operation, machinery
        self._resources = [
            (each.name, machinery.resolvers[each.type]) for each in operation.every(ResourceInput)
        ]
        self._path_inputs = [each.name for each in operation.every(PathInput)]
        body = operation.input(BodyInput)
        self._body = BodyReader(body) if body else None
        self._query = QueryReader(operation)
        self._filters = operation.input(QueryInput)
        self._page = operation.input(PageInput)
        self._has_inputs = bool(self._path_inputs or self._body or self._filters or self._page)
        self._history = History(shape_name(operation.shape))
        self._asked = History(shape_name(body.type)) if body else History(None)

    async def answer(self, request: Request, path: Mapping[str, str], version: date) -> Answer:
        operation, machinery = self.operation, self._machinery
        if operation.answer == "document":
            return Answer(operation.status, await operation.handler())
        if operation.requires.public:
            return await self._answer_visitor(request, path, version)
        caller = await machinery.admission.admit(request, operation.rate)
        if request.spent is not None and not request.spent.allowed:
            raise RateLimitExceeded(seconds=request.spent.retry_after)
        if operation.method == "GET":
            async with machinery.database.reading() as tx:
                call = Call(tx, request, machinery.limiter, machinery.sealer, caller, Trail(), machinery.live)
                values = await self._prepare(call, path, b"", version)
                return self._render(await operation.handler(call, **values), request, version)
        raw = await request.body() if self._body or operation.takes_idempotency_key else b""
        trail = Trail(Actor.of(caller), meta=dict(path))
        try:
            async with machinery.database.transaction() as tx:
                call = Call(tx, request, machinery.limiter, machinery.sealer, caller, trail, machinery.live)
                answer = await self._mutate(call, path, raw, version)
        except Forbidden:
            await self._record_denial(trail)
            raise
        await self._spread(tx)
        return answer

    async def _answer_visitor(self, request: Request, path: Mapping[str, str], version: date) -> Answer:
        machinery, operation = self._machinery, self.operation
        raw = await request.body() if self._body else b""
        async with machinery.visits, machinery.database.transaction() as tx:
            address = machinery.admission.address_of(request)
            visit = Visit(tx, request, machinery.limiter, address, Trail())
            values = self._read_inputs(request, path, raw, version)
            answer = self._render(await operation.handler(visit, **values), request, version)
            await audit.record(tx, operation.audit, "success", visit.trail)
        await self._spread(tx)
        return answer

    async def _spread(self, tx: Tx) -> None:
        if tx.outdated:
            await self._machinery.freshness.spread(tx.outdated)

    async def _record_denial(self, trail: Trail) -> None:
        """The refused transaction is gone; that somebody tried is told in one of its own."""
        async with self._machinery.database.transaction() as tx:
            await audit.record(tx, self.operation.audit, "denied", trail)

    async def _mutate(self, call: Call, path: Mapping[str, str], raw: bytes, version: date) -> Answer:
        request, operation, sealer = call.request, self.operation, self._machinery.sealer
        values = await self._prepare(call, path, raw, version)
        place = None
        if operation.takes_idempotency_key and request.sent(b"idempotency-key"):
            key = request.header(b"idempotency-key")
            place = idempotency.slot(call.caller, request.method, request.path, key, request.query, raw)
            recorded = await idempotency.claim(call.tx, sealer, place)
            if recorded is not None:
                return Answer(recorded.status, recorded.body, [*recorded.headers, _REPLAYED])
        answer = self._render(await operation.handler(call, **values), request, version)
        await audit.record(call.tx, operation.audit, "success", call.trail)
        if place is not None:
            recorded = idempotency.Recorded(answer.status, answer.body, answer.headers)
            await idempotency.record(call.tx, sealer, place, recorded)
        return answer

    async def _prepare(
        self, call: Call, path: Mapping[str, str], raw: bytes, version: date
    ) -> dict[str, Any]:
        """The handler's arguments, each check in its place."""
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
        """Role mask ∩ key scopes: the key must hold the scope, and the role must let its holder use it."""
        operation, trail = self.operation, call.trail
        roles = []
        for resource in resources.values():
            if isinstance(resource, Governed):
                role, trail.team_id, trail.site_id = resource.governance()
                roles.append(role)
        missing = operation.requires.missing(call.caller.allowed)
        if missing is not None:
            raise ScopeInsufficient(scope=missing)
        if operation.own is not None and path[operation.own] == call.caller.account_id:
            return
        for role in roles:
            too_low = operation.role is not None and not role.reaches(operation.role)
            if too_low or operation.requires.missing(MASK[role]) is not None:
                raise RoleInsufficient(role=role)

    def _read_inputs(
        self, request: Request, path: Mapping[str, str], raw: bytes, version: date
    ) -> dict[str, Any]:
        values: dict[str, Any] = {name: path[name] for name in self._path_inputs}
        if self._body is not None:
            values["body"] = self._body.read(raw, version)
        if self._filters is not None or self._page is not None:
            sent = query_values(request.query)
            filters = self._query.filters(sent) if self._filters is not None else None
            if self._filters is not None:
                values["query"] = filters
            if self._page is not None:
                values[self._page.name] = self._query.page(sent, request.path, filters)
        return values

    def _render(self, result: Any, request: Request, version: date) -> Answer:
        operation = self.operation
        if operation.answer == "none":
            return Answer(operation.status)
        if operation.answer == "stream":
            return Answer(operation.status, stream=result.frames)
        headers: list[Header] = []
        if operation.answer == "job":
            headers.append((b"location", result.links.self.encode()))
        if operation.tagged:
            headers.append((b"etag", f'"{result.etag}"'.encode()))
            if _has_seen(request.header(b"if-none-match"), result.etag):
                return Answer(304, headers=headers)
            result = result.data
        data = result.items if operation.answer == "list" else result
        if version is not LATEST:
            unseen = self._history.since(version)
            if unseen:
                data = self._history.older_answer(msgspec.to_builtins(data), version)
            headers += deprecation([*unseen, *self._asked.since(version)], self._machinery.live.docs_url)
        if operation.answer == "list":
            return Answer(operation.status, wrap_page(data, result, request.id), headers)
        return Answer(operation.status, wrap(data, request.id), headers)


def _has_seen(if_none_match: str, etag: str) -> bool:
    known = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return "*" in known or f'"{etag}"' in known
