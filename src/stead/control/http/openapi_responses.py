"""The responses of the API description. What several operations respond is written once."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from stead.control.http.examples import example
from stead.control.http.openapi_shapes import REF, Json, Shapes
from stead.control.http.operations import Operation
from stead.control.http.responses import ErrorEnvelope, Pagination
from stead.shared.errors import ApiError

_REQUEST_ID = "req_01k9zy3v7d00r3m8w5x2t6b4qa"
_MOST_NAMES = 3
"""A response with more errors is named after their type."""

_STREAM: Json = {"text/event-stream": {"schema": {"type": "string"}}}


class Responses:
    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self.components: Json = {}
        self.examples: Json = {}
        self.schemas: Json = {}

    def of(self, operation: Operation, errors: Iterable[type[ApiError]]) -> Json:
        responses: Json = {str(operation.status): self._success(operation)}
        if (other := operation.shape_without_job) is not None:
            responses["200"] = self._enveloped("Nothing is changed.", other)
        if operation.tagged or operation.response_kind == "document":
            responses["304"] = self._shared("NotModified", {"description": "Not modified.", "headers": _REFS})
        for status, group in groupby(errors, key=lambda error: error.status):
            responses[str(status)] = self._error(list(group))
        return responses

    def _success(self, operation: Operation) -> Json:
        empty: Json = {"description": operation.summary, "headers": _REFS}
        if operation.response_kind == "none":
            return {
                **self._shared("NoContent", {**empty, "description": "Done."}),
                "description": operation.summary,
            }
        if operation.response_kind == "document":
            return {**empty, "content": {"application/json": {"schema": {"type": "object"}}}}
        if operation.response_kind == "stream":
            return {**empty, "content": _STREAM}
        if operation.can_follow:
            return {**empty, "content": {**self._content(operation.shape), **_STREAM}}
        return self._enveloped(operation.summary, operation.shape, is_list=operation.response_kind == "list")

    def _enveloped(self, description: str, kind: Any, *, is_list: bool = False) -> Json:
        content = self._content(kind, is_list=is_list)
        name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
        response = {"description": "Done.", "headers": _REFS, "content": content}
        return {**self._shared(name, response), "description": description}

    def _content(self, kind: Any, *, is_list: bool = False) -> Json:
        item, shown = self._shapes.of(kind), example(kind)
        name = item["$ref"].rpartition("/")[2] + ("Page" if is_list else "Envelope")
        schema: Json = {"data": {"type": "array", "items": item} if is_list else item}
        value: Json = {"data": [shown] if is_list else shown}
        if is_list:
            schema["pagination"] = self._shapes.of(Pagination)
            value["pagination"] = {"next_cursor": None, "has_more": False}
        schema["request_id"] = {"type": "string", "pattern": "^req_"}
        value["request_id"] = _REQUEST_ID
        self.schemas[name] = {"title": name, "type": "object", "properties": schema, "required": list(schema)}
        return {"application/json": {"schema": {"$ref": REF.format(name=name)}, "example": value}}

    def _error(self, errors: Sequence[type[ApiError]]) -> Json:
        for error in errors:
            self.examples[error.code] = {"value": error_example(error)}
        shown = {error.code: {"$ref": f"#/components/examples/{error.code}"} for error in errors}
        content = {"schema": self._shapes.of(ErrorEnvelope), "examples": shown}
        response = {
            "description": ", ".join(f"`{error.code}`" for error in errors),
            "headers": _REFS,
            "content": {"application/json": content},
        }
        if len(errors) <= _MOST_NAMES:
            return self._shared("Or".join(error.__name__ for error in errors), response)
        parent = errors[0].__mro__[1].__name__
        return self._shared(parent, response)

    def _shared(self, name: str, response: Json) -> Json:
        """A reference, or the response itself if another one has this name."""
        if self.components.setdefault(name, response) != response:
            return response
        return {"$ref": f"#/components/responses/{name}"}


def error_example(error: type[ApiError]) -> Json:
    return {
        "error": {
            "type": error.type,
            "message": error.message,
            "code": error.code,
            "doc_url": f"https://stead.example/docs/errors/{error.type}/{error.code}",
        },
        "request_id": _REQUEST_ID,
    }


def _header(description: str, kind: str) -> Json:
    return {"description": description, "schema": {"type": kind}}


HEADERS: Json = {
    "Api-Version": _header("The API version of this response.", "string"),
    "X-Api-Stability": _header("`preview` while the API is in developer preview.", "string"),
    "X-Request-Id": _header("The ID of this request; also `request_id` in the body.", "string"),
    "X-RateLimit-Limit": _header(
        "Requests per minute in the rate class of this request. Only for operations with a rate class, like"
        " the two headers that follow.",
        "integer",
    ),
    "X-RateLimit-Remaining": _header("How many of these requests are left.", "integer"),
    "X-RateLimit-Reset": _header(
        "Unix time in seconds at which the full limit is available again.", "integer"
    ),
}
_REFS: Json = {name: {"$ref": f"#/components/headers/{name}"} for name in HEADERS}
