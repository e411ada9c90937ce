"""The schemas of the API description: every type once, with named enums."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stead.control.http.operations import BodyInput, Operation
from stead.control.http.responses import ErrorEnvelope, Pagination

Json = dict[str, Any]
REF = "#/components/schemas/{name}"
_JSON_TYPES = {str: "string", int: "integer"}
_OF_ITS_SHAPE = frozenset(
    {
        *("class", "code", "error_code", "kind", "mode", "outcome", "runtime", "shell", "state", "status"),
        *("target", "type", "version"),
    }
)
"""Fields that say something else in every shape: their enums are named after the shape as well."""
_ROLES_OF_SHAPES = ("New", "Change", "End", "Filter", "Override", "Summary")


class Shapes:
    """JSON Schemas of all types, under the names that callers see."""

    def __init__(self, operations: Iterable[Operation], id_prefixes: Mapping[str, str]) -> None:
        self.id_prefixes = id_prefixes
        self._kinds = [*dict.fromkeys(_kinds(operations)), Pagination, ErrorEnvelope]
        schemas, components = msgspec.json.schema_components(self._kinds, ref_template=REF)
        if ambiguous := sorted(name for name in components if "." in name):
            raise TypeError(f"{ambiguous}: two types of the API have the same name")
        self._renamed = {name: name.removesuffix("View") for name in components}
        if len({*self._renamed.values()}) < len(self._renamed):
            twice = [name for name in components if f"{name}View" in components]
            raise TypeError(f"{twice}: a body and a view of the API have the same name")
        self._schemas = [self._rename(schema) for schema in schemas]
        renamed: Json = {self._renamed[name]: self._rename(components[name]) for name in components}
        self._enums = _Enums(renamed)
        self._components: Json = {
            name: _typed(schema) if "enum" in schema else self.name_enums(schema, name)
            for name, schema in renamed.items()
        }

    @property
    def components(self) -> Json:
        """Complete when the parameters of all operations are described: those have enums of their own."""
        return {**self._components, **self._enums.named}

    def of(self, kind: Any) -> Json:
        return dict(self._schemas[self._kinds.index(kind)])

    def name_enums(self, schema: Any, shape: str) -> Any:
        """The schema of an object, with references in place of its enums."""
        if "properties" not in schema:
            return schema
        named = {name: self._enums.replace(each, shape, name) for name, each in schema["properties"].items()}
        return {**schema, "properties": named}

    def _rename(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return [self._rename(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        renamed = {key: self._rename(value) for key, value in schema.items()}
        if "title" in renamed and isinstance(renamed["title"], str):
            renamed["title"] = renamed["title"].removesuffix("View")
        if any(isinstance(part, dict) and part.get("x-sensitive") for part in renamed.get("anyOf", ())):
            # A field that may be null is as secret as its value.
            renamed["x-sensitive"] = True
        if "$ref" in renamed:
            name = renamed["$ref"].rpartition("/")[2]
            renamed["$ref"] = REF.format(name=self._renamed.get(name, name))
        return renamed


def _kinds(operations: Iterable[Operation]) -> list[Any]:
    declared = list(operations)
    kinds = [operation.shape for operation in declared if operation.shape is not None]
    kinds += [other for operation in declared if (other := operation.shape_without_job) is not None]
    kinds += [body.type for operation in declared if (body := operation.input_of(BodyInput))]
    frames = [frame.type for operation in declared for frame in operation.frames.values()]
    return [*kinds, *(kind for kind in frames if kind is not str)]


class _Enums:
    """The enums of all shapes. Two fields with the same name and values share an enum."""

    def __init__(self, taken: Mapping[str, Any]) -> None:
        self._taken = taken
        self.named: Json = {}

    def replace(self, schema: Any, shape: str, field: str) -> Any:
        if isinstance(schema, list):
            return [self.replace(each, shape, field) for each in schema]
        if not isinstance(schema, dict):
            return schema
        if len(schema.get("enum", ())) > 1:
            rest = {key: value for key, value in schema.items() if key not in ("enum", "type")}
            return {"$ref": REF.format(name=self._name(schema["enum"], shape, field)), **rest}
        if "enum" in schema:
            return _typed(schema)
        inner = ("items", "anyOf", "additionalProperties")
        return {
            key: self.replace(value, shape, field) if key in inner else value for key, value in schema.items()
        }

    def _name(self, values: list[Any], shape: str, field: str) -> str:
        schema = _typed({"enum": values})
        owner = shape
        for role in _ROLES_OF_SHAPES:
            owner = owner.removeprefix(role).removesuffix(role)
        own = camel_case(field.removesuffix("s") if field == "scopes" else field)
        wanted = [f"{owner}{own}", f"{shape}{own}"]
        if field not in _OF_ITS_SHAPE:
            wanted.insert(0, own)
        for name in wanted:
            if name not in self._taken and self.named.setdefault(name, schema) == schema:
                return name
        raise TypeError(f"{shape}.{field}: another enum or shape has its name")


def _typed(schema: Json) -> Json:
    [kind] = {type(value) for value in schema["enum"]}
    return {"type": _JSON_TYPES[kind], **schema}


def camel_case(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.replace("-", "_").split("_"))
