"""The parameters of the API description. Those that several operations have are written once."""

from typing import Any

import msgspec

from stead.control.http.idempotency import HEADER, MAX_KEY_LENGTH
from stead.control.http.openapi_shapes import Json, Shapes, camel_case
from stead.control.http.operations import Operation, PageInput, PathInput, QueryInput, ResourceInput
from stead.control.http.pagination import DEFAULT_LIMIT, MAX_LIMIT
from stead.shared.ids import ALPHABET
from stead.shared.versions import VERSIONS

_LIMIT_HELP = f"Number of items. Values above {MAX_LIMIT} mean {MAX_LIMIT}."


class Parameters:
    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self.components: Json = {}

    def of(self, operation: Operation) -> list[Json]:
        found = [
            self._shared(camel_case(name), self._in_path(operation, name))
            for name in operation.path_parameters
        ]
        query = operation.input_of(QueryInput)
        if query is not None:
            found += self._filters(query.type)
        if operation.input_of(PageInput):
            found += [self._limit(operation.page_size), self._shared("Cursor", _CURSOR)]
        if operation.takes_idempotency_key:
            found.append(self._shared("IdempotencyKey", _IDEMPOTENCY_KEY))
        found.append(self._shared("ApiVersion", _API_VERSION))
        return found

    def _shared(self, name: str, parameter: Json) -> Json:
        """A reference, or the parameter itself if another one has this name."""
        if self.components.setdefault(name, parameter) != parameter:
            return parameter
        return {"$ref": f"#/components/parameters/{name}"}

    def _limit(self, default: int) -> Json:
        limit = _in_query("limit", {"type": "integer", "minimum": 1, "default": default}, _LIMIT_HELP)
        return self._shared("Limit", limit) if default == DEFAULT_LIMIT else limit

    def _in_path(self, operation: Operation, name: str) -> Json:
        schema: Json = {"type": "string"}
        prefixes = self._shapes.id_prefixes
        is_text = name not in prefixes and name in {each.name for each in operation.inputs_of(PathInput)}
        if operation.input_of(ResourceInput) and name.endswith("_id") and not is_text:
            schema |= _identifier(prefixes[name])
        return {"name": name, "in": "path", "required": True, "schema": schema}

    def _filters(self, kind: Any) -> list[Json]:
        schema = msgspec.json.schema(kind)["$defs"][kind.__name__]
        named = self._shapes.name_enums(schema, kind.__name__)["properties"]
        required = schema.get("required", [])
        return [
            {**_in_query(name, each, each.get("description", "")), "required": name in required}
            for name, each in named.items()
        ]


def _identifier(prefix: str) -> Json:
    if not prefix:
        return {"pattern": "^[1-9][0-9]{0,17}$", "examples": ["42"]}
    return {"pattern": f"^{prefix}_[{ALPHABET}]{{26}}$", "examples": [f"{prefix}_{'0' * 26}"]}


def _in_query(name: str, schema: Json, description: str) -> Json:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def _in_header(name: str, schema: Json, description: str) -> Json:
    return {"name": name, "in": "header", "required": False, "schema": schema, "description": description}


_CURSOR = _in_query("cursor", {"type": "string"}, "`next_cursor` of the previous page.")
_IDEMPOTENCY_KEY = _in_header(
    HEADER,
    {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH},
    "A repeated request with the same key has no further effect, and gets the first response again.",
)
_API_VERSION = _in_header(
    "Api-Version",
    {"type": "string", "enum": [each.isoformat() for each in VERSIONS]},
    "The version of the API that the request is written for. By default the latest.",
)
