"""The API description (OpenAPI 3.1), generated from the declarations that also drive request handling."""

from collections.abc import Collection, Iterable, Mapping

from stead.control.http.examples import example
from stead.control.http.openapi_extensions import extensions
from stead.control.http.openapi_parameters import Parameters
from stead.control.http.openapi_responses import HEADERS, Responses
from stead.control.http.openapi_shapes import Json, Shapes
from stead.control.http.operations import (
    BodyInput,
    Operation,
    PageInput,
    QueryInput,
    ResourceInput,
)
from stead.control.http.version_changes import CHANGES
from stead.control.http.visibility import Governed
from stead.shared import errors
from stead.shared.errors import ApiError
from stead.shared.versions import LATEST

ALWAYS: tuple[type[ApiError], ...] = (
    errors.VersionUnknown,
    errors.Internal,
    errors.Unavailable,
    errors.TookTooLong,
)
WITH_CREDENTIAL: tuple[type[ApiError], ...] = (
    errors.CredentialMissing,
    errors.CredentialMalformed,
    errors.CredentialInvalid,
    errors.CredentialExpired,
    errors.CredentialRevoked,
    errors.AddressNotAllowed,
    errors.RateLimitExceeded,
)
WITH_BODY: tuple[type[ApiError], ...] = (errors.RequestMalformed, errors.FieldInvalid, errors.RequestTooLarge)
WITH_QUERY: tuple[type[ApiError], ...] = (errors.RequestMalformed, errors.FieldInvalid)
WITH_KEY: tuple[type[ApiError], ...] = (errors.IdempotencyInFlight, errors.IdempotencyKeyReused)


def errors_of(operation: Operation) -> list[type[ApiError]]:
    """Every error of this operation: those it declares and those that follow from its declaration."""
    requires, resources = operation.requires, operation.inputs_of(ResourceInput)
    page, query = operation.input_of(PageInput), operation.input_of(QueryInput)
    implied: list[tuple[object, tuple[type[ApiError], ...]]] = [
        (not requires.public, WITH_CREDENTIAL),
        (not requires.public and not operation.test_keys, (errors.ModeInsufficient,)),
        (requires.scopes, (errors.ScopeInsufficient,)),
        (any(issubclass(each.type, Governed) for each in resources), (errors.RoleInsufficient,)),
        (operation.account_wide, (errors.AccountNotFound,)),
        (operation.response_kind == "stream" or operation.can_follow, (errors.StreamsExceeded,)),
        (operation.capability, (errors.CapabilityUnsupported,)),
        (operation.input_of(BodyInput), WITH_BODY),
        (page or query, WITH_QUERY),
        (page, (errors.CursorInvalid,)),
        (operation.takes_idempotency_key, (*WITH_KEY, *WITH_BODY)),
    ]
    found = {*ALWAYS, *operation.errors, *(error for applies, group in implied if applies for error in group)}
    return sorted(found, key=lambda error: (error.status, error.code))


def document(
    operations: Iterable[Operation],
    id_prefixes: Mapping[str, str],
    job_results: Mapping[str, Collection[str]],
    *,
    base_url: str = "/",
) -> Json:
    """`id_prefixes` maps the name of a path parameter to the prefix of its identifiers, and `job_results` the
    type of a job to the keys of its result."""
    declared = {operation.id: operation for operation in operations}
    shapes = Shapes(declared.values(), id_prefixes)
    parameters, responses = Parameters(shapes), Responses(shapes)
    paths: Json = {}
    for operation in declared.values():
        paths.setdefault(operation.path, {})[operation.method.lower()] = {
            **_entry(operation, shapes),
            "parameters": parameters.of(operation),
            "responses": responses.of(operation, errors_of(operation)),
            **extensions(operation, shapes, job_results, declared),
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Stead API",
            "version": LATEST.isoformat(),
            "summary": "Host static sites, WordPress sites and WebAssembly functions.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "tags": [{"name": tag} for tag in dict.fromkeys(operation.tag for operation in declared.values())],
        "paths": paths,
        "components": {
            "securitySchemes": {"credential": {"type": "http", "scheme": "bearer"}},
            "schemas": {**shapes.components, **responses.schemas},
            "parameters": parameters.components,
            "responses": responses.components,
            "examples": responses.examples,
            "headers": HEADERS,
        },
        "x-version-changes": [
            {"since": change.since.isoformat(), "shape": change.shape, "summary": change.summary}
            for change in CHANGES
        ],
    }


def _entry(operation: Operation, shapes: Shapes) -> Json:
    public = operation.requires.public
    entry: Json = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.description or operation.summary,
        "security": [] if public else [{"credential": list(operation.requires.scopes)}],
        "x-error-codes": [error.code for error in errors_of(operation)],
    }
    body = operation.input_of(BodyInput)
    if body is not None:
        entry["requestBody"] = {
            "required": not body.optional,
            "content": {"application/json": {"schema": shapes.of(body.type), "example": example(body.type)}},
        }
    return entry
<<<<<<< 50bfa4d1a158dbcd120f66796ce0a4d0508a2b80
=======


def _security(operation: Operation) -> list[Json]:
    return [] if operation.requires.public else [{"credential": list(operation.requires.scopes)}]


def _scopes(operation: Operation) -> Json:
    return {"any_of" if operation.requires.any_one else "all_of": list(operation.requires.scopes)}


def _parameters(operation: Operation, shapes: _Shapes) -> list[Json]:
    found: list[Json] = [_path_parameter(operation, name, shapes) for name in operation.path_parameters]
    query = operation.input_of(QueryInput)
    if query is not None:
        found += _filters(query.type)
    if operation.input_of(PageInput):
        found += [
            _query_parameter("limit", _limit(operation.page_size), _LIMIT_HELP),
            _query_parameter("cursor", {"type": "string"}, "`next_cursor` of the previous page."),
        ]
    if operation.takes_idempotency_key:
        found.append(
            _header_parameter(HEADER, {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH})
        )
    found.append(
        _header_parameter("Api-Version", {"type": "string", "enum": [each.isoformat() for each in VERSIONS]})
    )
    return found


_LIMIT_HELP = f"Number of items. Values above {MAX_LIMIT} mean {MAX_LIMIT}."


def _limit(default: int) -> Json:
    return {"type": "integer", "minimum": 1, "default": default}


def _path_parameter(operation: Operation, name: str, shapes: _Shapes) -> Json:
    schema: Json = {"type": "string"}
    if operation.input_of(ResourceInput) and name.endswith("_id"):
        prefix = shapes.id_prefixes[name]
        schema |= {"pattern": f"^{prefix}_[{ALPHABET}]{{26}}$", "examples": [f"{prefix}_{'0' * 26}"]}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameter(name: str, schema: Json, description: str) -> Json:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def _header_parameter(name: str, schema: Json) -> Json:
    return {"name": name, "in": "header", "required": False, "schema": schema}


def _filters(kind: Any) -> list[Json]:
    schema = msgspec.json.schema(kind)["$defs"][kind.__name__]
    required = schema.get("required", [])
    return [
        {**_query_parameter(name, each, each.get("description", "")), "required": name in required}
        for name, each in schema["properties"].items()
    ]


def _responses(operation: Operation, shapes: _Shapes) -> Json:
    responses: Json = {str(operation.status): _success(operation, shapes)}
    if (other := operation.shape_without_job) is not None:
        described: Json = {"description": "Nothing is changed.", "headers": _header_refs(operation)}
        responses["200"] = {**described, "content": _envelope(shapes.of(other), example(other))}
    if operation.tagged:
        responses["304"] = {"description": "Not modified.", "headers": _header_refs(operation)}
    for error in errors_of(operation):
        response = responses.setdefault(
            str(error.status),
            {
                "description": "",
                "headers": _header_refs(operation),
                "content": {"application/json": {"schema": shapes.of(ErrorEnvelope), "examples": {}}},
            },
        )
        response["description"] = ", ".join(filter(None, [response["description"], f"`{error.code}`"]))
        response["content"]["application/json"]["examples"][error.code] = {"value": error_example(error)}
    return responses


def error_example(error: type[ApiError]) -> Json:
    return {
        "error": {
            "type": error.type,
            "message": error.message,
            "code": error.code,
            "doc_url": f"https://stead.example/docs/errors/{error.type}/{error.code}",
        },
        "request_id": "req_01k9zy3v7d00r3m8w5x2t6b4qa",
    }


def _success(operation: Operation, shapes: _Shapes) -> Json:
    response: Json = {"description": operation.summary, "headers": _header_refs(operation)}
    if operation.response_kind == "none":
        return response
    if operation.response_kind == "document":
        return {**response, "content": {"application/json": {"schema": {"type": "object"}}}}
    if operation.response_kind == "stream":
        return {**response, "content": _STREAM}
    item, data = shapes.of(operation.shape), example(operation.shape)
    if operation.response_kind != "list":
        followed = _STREAM if operation.can_follow else {}
        return {**response, "content": {**_envelope(item, data), **followed}}
    pagination = {"pagination": shapes.of(Pagination)}
    shown = {"pagination": {"next_cursor": None, "has_more": False}}
    return {**response, "content": _envelope({"type": "array", "items": item}, [data], pagination, shown)}


def _envelope(schema: Json, data: Any, more: Json | None = None, shown: Json | None = None) -> Json:
    """The content of a response with this data; `more` are other fields beside it, with their examples."""
    properties: Json = {"data": schema, "request_id": {"type": "string", "pattern": "^req_"}, **(more or {})}
    value: Json = {"data": data, "request_id": "req_01k9zy3v7d00r3m8w5x2t6b4qa", **(shown or {})}
    wrapped = {"type": "object", "properties": properties, "required": list(properties)}
    return {"application/json": {"schema": wrapped, "example": value}}


def _header_refs(operation: Operation) -> Json:
    names = ["Api-Version", "X-Api-Stability", "X-Request-Id"]
    if operation.rate is not None:
        names += ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _header(description: str, kind: str) -> Json:
    return {"description": description, "schema": {"type": kind}}


_STREAM: Json = {"text/event-stream": {"schema": {"type": "string"}}}
_HEADERS: Json = {
    "Api-Version": _header("The API version of this response.", "string"),
    "X-Api-Stability": _header("`preview` while the API is in developer preview.", "string"),
    "X-Request-Id": _header("The ID of this request; also `request_id` in the body.", "string"),
    "X-RateLimit-Limit": _header("Requests per minute in the rate class of this request.", "integer"),
    "X-RateLimit-Remaining": _header("How many of these requests are left.", "integer"),
    "X-RateLimit-Reset": _header(
        "Unix time in seconds at which the full limit is available again.", "integer"
    ),
}
>>>>>>> 6083614040c8f26ea9f938d9c4e0a8b0f23825ba
