"""Reads `openapi/v1.json` into what all clients are generated from."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Field:
    """A field of a shape, or a parameter in a query."""

    name: str
    schema: Json
    required: bool
    description: str

    @property
    def is_sensitive(self) -> bool:
        return bool(self.schema.get("x-sensitive"))


@dataclass(frozen=True)
class Shape:
    name: str
    description: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    description: str
    path_parameters: tuple[str, ...]
    query: tuple[Field, ...]
    body: str | None
    """The name of the shape of the body."""
    body_is_optional: bool
    returns: str | None
    """The name of the shape of `data`, or of its items in a list."""
    kind: str
    """`object`, `list`, `none`, `document`, `job` or `stream`."""
    instead_of_job: str | None
    """The shape of `data` if the operation answers without a job."""
    follows: str | None
    """The shape of what is new, if the operation can be followed as a stream."""
    read_with: str | None
    idempotent: str
    destructive: str
    scopes: tuple[str, ...]
    group: str
    command: str
    arguments: tuple[str, ...]

    @property
    def resource(self) -> str:
        return self.id.partition(".")[0]

    @property
    def action(self) -> str:
        return self.id.partition(".")[2]


class Description:
    def __init__(self, file: Path) -> None:
        self.document: Json = json.loads(file.read_text())
        self._components: Json = self.document["components"]

    @cached_property
    def version(self) -> str:
        return str(self.document["info"]["version"])

    @cached_property
    def enums(self) -> dict[str, list[Any]]:
        return {name: schema["enum"] for name, schema in self._schemas.items() if "enum" in schema}

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        found = {}
        for name, schema in self._schemas.items():
            if "properties" not in schema or name.endswith(("Envelope", "Page")):
                continue
            required = set(schema.get("required", ()))
            fields = tuple(
                Field(field, each, field in required, each.get("description", ""))
                for field, each in schema["properties"].items()
            )
            found[name] = Shape(name, schema.get("description", ""), fields)
        return found

    @cached_property
    def operations(self) -> list[Operation]:
        return [
            self._operation(method.upper(), path, entry)
            for path, methods in self.document["paths"].items()
            for method, entry in methods.items()
        ]

    @cached_property
    def never_repeated(self) -> list[Operation]:
        """Those that a client would repeat with a key if it did not know that they ignore it."""
        return [each for each in self.operations if each.method == "POST" and each.idempotent == "none"]

    @cached_property
    def error_types(self) -> dict[str, str]:
        """The type of every error code."""
        examples = (each["value"]["error"] for each in self._components["examples"].values())
        return {
            error["code"]: error["type"] for error in sorted(examples, key=lambda each: str(each["code"]))
        }

    @cached_property
    def resources(self) -> dict[str, list[Operation]]:
        found: dict[str, list[Operation]] = {}
        for operation in self.operations:
            found.setdefault(operation.resource, []).append(operation)
        return dict(sorted(found.items()))

    def inputs(self) -> list[str]:
        """Shapes that requests contain, and those inside them."""
        return self._with_inner([operation.body for operation in self.operations if operation.body])

    def outputs(self) -> list[str]:
        """Shapes that responses contain, and those inside them."""
        found = [
            each
            for operation in self.operations
            for each in (operation.returns, operation.instead_of_job, operation.follows)
        ]
        return self._with_inner([each for each in found if each])

    @property
    def _schemas(self) -> Json:
        schemas: Json = self._components["schemas"]
        return schemas

    def _with_inner(self, names: list[str]) -> list[str]:
        found: list[str] = []
        while names:
            name = names.pop(0)
            if name in found or name not in self.shapes:
                continue
            found.append(name)
            names += [inner for field in self.shapes[name].fields for inner in references(field.schema)]
        return sorted(found)

    def _operation(self, method: str, path: str, entry: Json) -> Operation:
        parameters = [self._resolve(each) for each in entry["parameters"]]
        command, job = entry["x-cli"], entry.get("x-job")
        body = entry.get("requestBody")
        kind, returns, instead = self._returns(entry)
        return Operation(
            id=entry["operationId"],
            method=method,
            path=path,
            summary=entry["summary"],
            description="" if entry["description"] == entry["summary"] else entry["description"],
            path_parameters=tuple(each["name"] for each in parameters if each["in"] == "path"),
            query=tuple(
                Field(
                    each["name"],
                    each["schema"],
                    required=each.get("required", False),
                    description=each.get("description", ""),
                )
                for each in parameters
                if each["in"] == "query"
            ),
            body=references(body["content"]["application/json"]["schema"])[0] if body else None,
            body_is_optional=not body["required"] if body else False,
            returns=returns,
            kind=kind,
            instead_of_job=instead,
            follows=_followed(entry),
            read_with=job.get("read_with") if job else None,
            idempotent=entry["x-idempotent"],
            destructive=entry["x-destructive"],
            scopes=tuple(next(iter(entry["x-scopes"].values()))),
            group=command["group"],
            command=command["name"],
            arguments=tuple(command["arguments"]),
        )

    def _returns(self, entry: Json) -> tuple[str, str | None, str | None]:
        success = {
            status: self._resolve(each) for status, each in entry["responses"].items() if status < "300"
        }
        if "x-stream" in entry and not entry["x-stream"].get("optional"):
            return "stream", None, None
        if "x-job" in entry:
            other = self._data(success["200"]) if "200" in success else None
            return "job", self._data(success["202"]), other
        [response] = success.values()
        if "content" not in response:
            return "none", None, None
        if "$ref" not in response["content"]["application/json"]["schema"]:
            return "document", None, None
        return ("list" if "x-pagination" in entry else "object"), self._data(response), None

    def _data(self, response: Json) -> str:
        envelope = self._resolve(response["content"]["application/json"]["schema"])
        return references(envelope["properties"]["data"])[0]

    def _resolve(self, part: Json) -> Json:
        if "$ref" not in part:
            return part
        target: Any = self.document
        for step in part["$ref"].split("/")[1:]:
            target = target[step]
        resolved: Json = target
        return resolved


def _followed(entry: Json) -> str | None:
    """The first event of an optional stream is what is new."""
    stream = entry.get("x-stream")
    if stream is None or not stream.get("optional"):
        return None
    return references(next(iter(stream["events"].values()))["schema"])[0]


def references(schema: Json) -> list[str]:
    """The shapes and enums that a schema refers to."""
    if "$ref" in schema:
        return [schema["$ref"].rpartition("/")[2]]
    inner = [*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties")]
    return [name for each in inner if isinstance(each, dict) for name in references(each)]
