"""The declaration of an HTTP operation. Everything a reviewer must check is an argument here.

    @operation("PATCH /v1/api-keys/{key_id}", id="api_keys.update", scope="keys:write", errors=[...])
    async def update_key(call: Call, key: VisibleKey, body: KeyChange) -> KeyView:
        \"\"\"Rename a key or narrow its scopes.\"\"\"

The annotations of the handler declare the rest. A parameter with a `Visible…` type is looked up by the
resolver of that type, so a handler never receives a resource that its caller may not see. `body`, `query` and
`page` are read from the request. The return type is the shape of the response. Request handling and the API
description both use this declaration.
"""

import inspect
import re
import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from stead.control.engines.postgres import Tx
from stead.control.http.context import ApiContext
from stead.control.http.modes import ModeBound
from stead.control.http.pagination import DEFAULT_LIMIT, Page, PageRequest
from stead.control.http.principal import Address, Principal
from stead.control.http.rate_limits import Limiter, RateClass
from stead.control.http.requests import Request
from stead.control.http.requirements import Requirement, requirement
from stead.control.outbox.audit import AuditEntry
from stead.control.sealing import Sealer
from stead.shared.errors import ApiError
from stead.shared.roles import Role

ResponseKind = Literal["object", "list", "none", "document", "job", "stream"]
Destructive = Literal["none", "reversible", "irreversible"]
Handler = Callable[..., Awaitable[Any]]
K = TypeVar("K")

_RATE_OF_METHOD: dict[str, RateClass] = {
    "GET": "read",
    "POST": "create",
    "PUT": "write",
    "PATCH": "write",
    "DELETE": "write",
}
_PARAMETER = re.compile(r"{(\w+)}")


def rate_class_of(method: str) -> RateClass:
    """The class of any method, also of one that no operation has."""
    return _RATE_OF_METHOD.get(method, "write")


@dataclass(frozen=True, slots=True)
class PublicCall:
    """A request to a public operation: it has no credential."""

    tx: Tx
    request: Request
    limiter: Limiter
    sealer: Sealer
    address: Address
    audit: AuditEntry
    context: ApiContext


class Call(msgspec.Struct, frozen=True):
    """A request with a credential. `caller` is the principal of the credential."""

    tx: Tx
    request: Request
    limiter: Limiter
    sealer: Sealer
    caller: Principal
    audit: AuditEntry
    context: ApiContext


class Document(msgspec.Struct):
    """A response without an envelope that is the same for every request, with an `ETag`."""

    body: bytes
    compressed: bytes
    """The body as gzip."""
    etag: str


class Tagged(msgspec.Struct, Generic[K]):
    """A response with an `ETag`. A caller that sends the tag in `If-None-Match` gets 304."""

    data: K
    etag: str


class Later(msgspec.Struct, Generic[K]):
    """A response that is made after the transaction has ended, because it waits for something slow, such as
    another program.

    `ask` waits, outside any transaction. `finish`, if there is one, gets what it returned, in a transaction
    of its own, and returns the response; then `ask` changes nothing. Otherwise what `ask` returned is the
    response.
    """

    ask: Callable[[], Awaitable[Any]]
    finish: Callable[[Tx, Any], Awaitable[Any]] | None = None

    async def conclude(self, tx: Tx, asked: Any) -> Any:
        """The response, after `ask` has returned this."""
        return asked if self.finish is None else await self.finish(tx, asked)


class Stream(msgspec.Struct):
    """A response of server-sent events. It starts after the database connection is released."""

    frames: AsyncGenerator[bytes, None]


@dataclass(frozen=True, slots=True)
class Frame:
    """A kind of server-sent event, as the API description shows it. The data of `str` is text."""

    type: Any
    description: str
    ends: bool = False
    """Whether nothing follows it."""


@dataclass(frozen=True, slots=True)
class BodyInput:
    name: str
    type: Any
    optional: bool

    @property
    def shape(self) -> Any:
        """The JSON shape, without the `None` of an optional body."""
        return next(kind for kind in (*get_args(self.type), self.type) if kind is not types.NoneType)


@dataclass(frozen=True, slots=True)
class QueryInput:
    name: str
    type: Any


@dataclass(frozen=True, slots=True)
class PageInput:
    name: str


@dataclass(frozen=True, slots=True)
class PathInput:
    name: str


@dataclass(frozen=True, slots=True)
class ResourceInput:
    name: str
    type: type


Input = BodyInput | QueryInput | PageInput | PathInput | ResourceInput


@dataclass(frozen=True, slots=True)
class Operation:
    id: str
    tag: str
    method: str
    path: str
    requires: Requirement
    status: int
    job: str | None
    rate: RateClass | None
    capability: str | None
    role: Role | None
    own_account_param: str | None
    account_wide: bool
    test_keys: bool
    """Whether a test credential may call it."""
    audit: str
    preview: bool
    extension: str | None
    """Why an operation exists that the contract does not list; None for those it lists."""
    errors: tuple[type[ApiError], ...]
    summary: str
    description: str
    handler: Handler
    inputs: tuple[Input, ...]
    response_kind: ResponseKind
    page_size: int
    """The default number of items on a page."""
    tagged: bool
    """Whether the response has an `ETag`."""
    shape: Any
    """The type of `data`, or of its items in a list response."""
    path_parameters: tuple[str, ...]
    shape_without_job: Any = None
    """The type of `data` in a response with status 200, if the operation does not always queue its job."""
    destructive: Destructive = "none"
    """What it takes away: nothing, something that can be restored, or something that is lost."""
    creates: str | None = None
    """The id of the operation that reads what its job creates."""
    frames: Mapping[str, Frame] = field(default_factory=dict)
    """The kinds of event in a stream, by their names."""
    can_follow: bool = False
    """Whether a caller that accepts `text/event-stream` gets a stream of what is new."""
    recent_sign_in: bool = False
    """Whether a browser's session must be new."""

    @property
    def takes_idempotency_key(self) -> bool:
        """A `DELETE` can be repeated as it is, but one that queues a job would queue another."""
        queues = self.method == "DELETE" and self.job is not None
        return (self.method == "POST" or queues) and not self.requires.public

    def inputs_of(self, kind: type[K]) -> list[K]:
        return [each for each in self.inputs if isinstance(each, kind)]

    def input_of(self, kind: type[K]) -> K | None:
        """The input of this kind, or None. For kinds of which an operation has at most one."""
        return next(iter(self.inputs_of(kind)), None)


class Operations:
    """The operations of one feature, in the order of their declaration."""

    def __init__(self, *, tag: str) -> None:
        self.tag = tag
        self._all: list[Operation] = []

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._all)

    def __call__(
        self,
        route: str,
        *,
        id: str,  # noqa: A002 - the name in the API description
        scope: str | tuple[str, ...] | Requirement,
        status: int = 200,
        job: str | None = None,
        rate_limited: bool = True,
        rate: RateClass | None = None,
        role: Role | None = None,
        own_account_param: str | None = None,
        account_wide: bool = False,
        test_keys: bool | None = None,
        capability: str | None = None,
        audit: str | None = None,
        preview: bool = False,
        extension: str | None = None,
        resources: Mapping[str, type] | None = None,
        page_size: int = DEFAULT_LIMIT,
        destructive: Destructive | None = None,
        creates: str | None = None,
        frames: Mapping[str, Frame] | None = None,
        recent_sign_in: bool = False,
        errors: Sequence[type[ApiError]] = (),
    ) -> Callable[[Handler], Handler]:
        """Declare the decorated handler.

        `role` is the minimum role in the team of the resource. If the path parameter `own_account_param`
        names the account of the caller, no role is required. `account_wide` refuses pinned keys. `test_keys`
        says whether test credentials are allowed: by default for reads, and for mutations of a resource that
        belongs to one mode. `audit` is the name of the audit event of a mutation, by default derived from the
        id. `rate_limited=False`
        excludes the operation from rate limits; `rate` is the class that it counts as, by default that of its
        method. `job` is the type of the job that the handler queues and returns; a handler that may answer
        without one returns `JobView | OtherView`. One that streams what is new to callers that accept
        `text/event-stream` returns `OtherView | Stream`. `extension` says why an
        operation exists that is not in the contract. `resources` replaces the types of resource parameters,
        so that one handler can be declared for several paths. `destructive` says whether the operation takes
        something away, and whether that can be restored: clients ask before they call it. By default a
        `DELETE` is irreversible, and everything else takes nothing away. `creates` names the operation that
        reads what the job creates. `frames` are the kinds of event of a stream. `recent_sign_in`: a person at
        a browser must have signed in a short time ago.
        """
        method, path = route.split()
        requires = requirement(scope)

        def declare(handler: Handler) -> Handler:
            summary, _, description = inspect.cleandoc(handler.__doc__ or "").partition("\n\n")
            if not summary.endswith("."):
                raise TypeError(f"{id}: the docstring of the handler must begin with one sentence")
            hints = {**get_type_hints(handler), **(resources or {})}
            returned, without_job = _split(_unwrap(hints.pop("return")))
            returned = _unwrap(returned)
            can_follow, without_job = without_job is Stream, None if without_job is Stream else without_job
            response_kind, shape = _response(returned)
            response_kind = "job" if job is not None else response_kind
            inputs = () if response_kind == "document" else _inputs(id, path, hints, requires)
            self._all.append(
                Operation(
                    id=id,
                    tag=self.tag,
                    method=method,
                    path=path,
                    requires=requires,
                    status={"none": 204, "job": 202}.get(response_kind, status),
                    job=job,
                    rate=(rate or _RATE_OF_METHOD[method]) if rate_limited and not requires.public else None,
                    capability=capability,
                    role=role,
                    own_account_param=own_account_param,
                    account_wide=account_wide,
                    test_keys=_allows_test_keys(method, inputs) if test_keys is None else test_keys,
                    audit=audit or _audit_name(id),
                    preview=preview,
                    extension=extension,
                    errors=tuple(errors),
                    summary=summary,
                    description=description,
                    handler=handler,
                    inputs=inputs,
                    response_kind=response_kind,
                    page_size=page_size,
                    tagged=get_origin(returned) is Tagged,
                    shape=shape,
                    path_parameters=tuple(_PARAMETER.findall(path)),
                    shape_without_job=without_job,
                    destructive=destructive or ("irreversible" if method == "DELETE" else "none"),
                    creates=creates,
                    frames=frames or {},
                    can_follow=can_follow,
                    recent_sign_in=recent_sign_in,
                )
            )
            return handler

        return declare


def _audit_name(id_: str) -> str:
    """`api_keys.create` is recorded as `api_key_create`."""
    resource, _, action = id_.partition(".")
    return f"{resource.removesuffix('s')}_{action}"


def _unwrap(returned: Any) -> Any:
    """What the handler returns in the end."""
    return get_args(returned)[0] if get_origin(returned) is Later else returned


def _split(returned: Any) -> tuple[Any, Any]:
    """What the handler returns, and what it may return instead of a job."""
    if get_origin(returned) not in (types.UnionType, Union):
        return returned, None
    job, other = get_args(returned)
    return job, other


def _response(returned: Any) -> tuple[ResponseKind, Any]:
    if returned is type(None):
        return "none", None
    if returned is Document:
        return "document", None
    if returned is Stream:
        return "stream", None
    if get_origin(returned) is Tagged:
        return "object", get_args(returned)[0]
    if get_origin(returned) is Page:
        return "list", get_args(returned)[0]
    return "object", returned


def _allows_test_keys(method: str, inputs: Sequence[Input]) -> bool:
    resources = [each.type for each in inputs if isinstance(each, ResourceInput)]
    return method == "GET" or any(issubclass(resource, ModeBound) for resource in resources)


def _inputs(id_: str, path: str, hints: dict[str, Any], requires: Requirement) -> tuple[Input, ...]:
    first, *rest = hints.items()
    if first != ("call", Call) and not (requires.public and first == ("call", PublicCall)):
        raise TypeError(
            f"{id_}: the first parameter must be `call: Call`, or `call: PublicCall` for a public operation"
        )
    return tuple(_input(id_, path, name, hint) for name, hint in rest)


def _input(id_: str, path: str, name: str, hint: Any) -> Input:
    if hint is PageRequest:
        return PageInput(name)
    if name == "query":
        return QueryInput(name, hint)
    if name == "body":
        optional = get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)
        return BodyInput(name, hint, optional)
    if name in _PARAMETER.findall(path):
        return PathInput(name)
    if isinstance(hint, type) and hint.__name__.startswith("Visible"):
        return ResourceInput(name, hint)
    raise TypeError(f"{id_}: the parameter `{name}` does not correspond to anything in the request")
