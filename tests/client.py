"""An HTTP client that checks every response against the API description."""

import json
from functools import cache
from typing import Any

import httpx
from jsonschema_rs import Draft202012Validator

from stead.control.features import all_operations, id_prefixes, job_results
from stead.control.http.openapi import document, errors_of
from stead.control.http.operations import Operation
from stead.control.http.router import Router
from stead.shared.errors import ApiError


@cache
def description() -> dict[str, Any]:
    return document(all_operations(), id_prefixes(), job_results())


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    """A part of the description, or what it refers to. What stands beside a reference replaces it."""
    if "$ref" not in part:
        return part
    return {**_at(part["$ref"]), **{name: value for name, value in part.items() if name != "$ref"}}


def _at(reference: str) -> Any:
    target: Any = description()
    for step in reference.split("/")[1:]:
        target = target[step]
    return target


@cache
def _router() -> Router:
    return Router(all_operations())


@cache
def _validator(path: str, method: str, status: str) -> Draft202012Validator:
    response = resolved(description()["paths"][path][method.lower()]["responses"][status])
    schema = response["content"]["application/json"]["schema"]
    return _compiled(json.dumps(schema, sort_keys=True))


@cache
def _compiled(schema: str) -> Draft202012Validator:
    """Many responses have the same schema. A compiled one contains only what it refers to: compiling the
    whole description for each response takes longer than the requests of a test."""
    parsed = json.loads(schema)
    components: dict[str, dict[str, Any]] = {}
    for reference in sorted(_references(parsed)):
        _, _, kind, name = reference.split("/")
        components.setdefault(kind, {})[name] = description()["components"][kind][name]
    return Draft202012Validator({**parsed, "components": components})


def _references(part: Any, found: frozenset[str] = frozenset()) -> frozenset[str]:
    """What a part of the description refers to, directly and through others, with what is `found` already."""
    match part:
        case {"$ref": str(reference)} if reference not in found:
            found = _references(_at(reference), found | {reference})
    for child in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        found = _references(child, found)
    return found


def operation_at(method: str, path: str) -> Operation | None:
    try:
        return _router().find(method, path)[0]
    except ApiError:
        return None


def check(response: httpx.Response) -> None:
    """Check the headers, that status and error code are documented, and the schema of the body."""
    assert response.headers["api-version"]
    assert response.headers["x-api-stability"] == "preview"
    if response.request.method in ("HEAD", "OPTIONS"):
        assert not response.content or response.request.method == "OPTIONS"
        return
    operation = operation_at(response.request.method, response.request.url.path)
    if operation is None:
        return
    status = str(response.status_code)
    documented = description()["paths"][operation.path][operation.method.lower()]["responses"]
    assert status in documented, f"{operation.id} answered an undocumented {status}: {response.text}"
    if response.status_code in (204, 304):
        assert not response.content
        return
    if operation.response_kind == "stream" and response.is_success:
        assert response.headers["content-type"] == "text/event-stream"
        return
    body = response.json()
    problems = [
        error.message for error in _validator(operation.path, operation.method, status).iter_errors(body)
    ]
    assert not problems, f"{operation.id}: {problems}"
    if response.status_code >= 400:
        code = body["error"]["code"]
        assert code in {error.code for error in errors_of(operation)}, f"{operation.id}: undeclared {code}"
        assert body["error"]["doc_url"].endswith(f"/errors/{body['error']['type']}/{code}")
    if operation.response_kind != "document":
        assert body["request_id"].startswith("req_")


class Client(httpx.AsyncClient):
    """Sends the requests of one credential."""

    def as_(self, secret: str) -> "Client":
        other = Client(transport=self._transport, base_url=self.base_url, timeout=self.timeout)
        other.headers["authorization"] = f"Bearer {secret}"
        return other

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        response = await super().send(request, **options)
        await response.aread()
        check(response)
        return response


def code_of(response: httpx.Response) -> str:
    """The error code of a refusal. Otherwise the status, so that a failed comparison shows it."""
    return str(response.json()["error"]["code"]) if response.status_code >= 400 else str(response.status_code)
