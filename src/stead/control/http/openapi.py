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
    errors.AccountSuspended,
    errors.AddressNotAllowed,
    errors.CrossSiteRefused,
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
        (operation.recent_sign_in, (errors.SignInAgain,)),
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
