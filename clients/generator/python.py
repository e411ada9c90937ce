"""Generates the resources, models, parameters and error classes of the Python client."""

import keyword
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from clients.generator.blocking import blocking
from clients.generator.description import Description, Field, Json, Operation, Shape, references

PACKAGE = Path("clients/python/src/stead_sdk")
_HEADER = "# Generated from the API description by `make generate`.\n"
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def files(described: Description, root: Path) -> Iterator[tuple[Path, str]]:
    package = root / PACKAGE
    yield package / "types.py", _types(described)
    yield package / "params.py", _params(described)
    yield package / "error_codes.py", _error_codes(described)
    generated = {"resources/__init__.py": _index(described)}
    for name, operations in described.resources.items():
        generated[f"resources/{name}.py"] = _resource(name, operations, described)
    for path, text in generated.items():
        yield package / "_async" / path, text
        yield package / "_sync" / path, blocking(text.removeprefix(_HEADER), f"_async/{path}")
    for source in sorted((package / "_async").glob("*.py")):
        text = blocking(source.read_text(), f"_async/{source.name}")
        if source.name == "__init__.py":
            text = '"""The blocking client, generated from `_async`."""\n'
        yield package / "_sync" / source.name, text


def camel_case(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.replace(".", "_").split("_"))


def _attribute(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _annotation(schema: Json, described: Description, *, models: str, enums: str, sequence: str) -> str:
    """The type of a value. `models` and `enums` are the modules of shapes and enums with a dot, `sequence` is
    the type of a list."""

    def inner(part: Json) -> str:
        return _annotation(part, described, models=models, enums=enums, sequence=sequence)

    if "$ref" in schema:
        [name] = references(schema)
        return f"{enums if name in described.enums else models}{name}"
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(inner(each) for each in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"{sequence}[{inner(schema['items'])}]"
    if schema.get("type") == "object":
        of = schema.get("additionalProperties")
        value = inner(of) if isinstance(of, dict) else "Any"
        return f"{'dict' if sequence == 'list' else 'Mapping'}[str, {value}]"
    return _SCALARS.get(str(schema.get("type")), "Any")


def _docstring(*parts: str, indent: int = 4) -> str:
    """Paragraphs, wrapped."""
    space = " " * indent
    shown = []
    for part in parts:
        paragraphs = part.split("\n\n") if part else []
        shown += [textwrap.fill(" ".join(each.split()), 100, break_on_hyphens=False) for each in paragraphs]
    text = "\n\n".join(shown).replace("\\", "\\\\").replace('"""', "'''")
    if text.endswith('"'):
        text += " "
    lines = text.split("\n")
    if len(lines) == 1:
        return f'{space}"""{text}"""\n'
    body = "\n".join(f"{space}{line}".rstrip() for line in lines[1:])
    return f'{space}"""{lines[0]}\n{body}\n{space}"""\n'


def _types(described: Description) -> str:
    lines = [
        _HEADER,
        '"""The objects that the API returns, and its enums. Every enum may get more values."""\n\n',
        "from __future__ import annotations\n\n",
        "from stead_sdk._model import Model\n\n",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from typing import Any, Literal\n\n",
    ]
    for name, values in sorted(described.enums.items()):
        plain = "str" if isinstance(values[0], str) else "int"
        lines.append(f"    {name} = Literal[{', '.join(map(repr, values))}] | {plain}\n")
    lines.append("else:\n")
    lines += [
        f"    {name} = {'str' if isinstance(values[0], str) else 'int'}\n"
        for name, values in sorted(described.enums.items())
    ]
    lines += [_model(described.shapes[name], described) for name in described.outputs()]
    return "".join(lines)


def _model(shape: Shape, described: Description) -> str:
    fields = {_attribute(field.name): field for field in shape.fields}
    kinds = ", ".join(f'"{name}": {_inner_model(field, described)!r}' for name, field in fields.items())
    lines = [f"\n\nclass {shape.name}(Model):\n"]
    if shape.description:
        lines.append(_docstring(shape.description) + "\n")
    lines.append(f"    _fields = {{{kinds}}}\n")
    renamed = {name: field.name for name, field in fields.items() if name != field.name}
    if renamed:
        lines.append(f"    _renamed = {renamed!r}\n")
    secrets = sorted(field.name for field in shape.fields if field.is_sensitive)
    if secrets:
        lines.append(f"    _sensitive = frozenset({secrets!r})\n")
    lines.append("\n    if TYPE_CHECKING:\n")
    for name, field in fields.items():
        annotation = _annotation(field.schema, described, models="", enums="", sequence="list")
        if not field.required and "None" not in annotation:
            annotation += " | None"
        lines.append(f"        {name}: {annotation}\n")
        if field.description:
            lines.append(_docstring(field.description, indent=8))
    return "".join(lines)


def _inner_model(field: Field, described: Description) -> str | None:
    names = [name for name in references(field.schema) if name in described.shapes]
    if not names:
        return None
    schema = field.schema
    many = schema.get("type") in ("array", "object") or any(
        each.get("type") in ("array", "object") for each in schema.get("anyOf", ())
    )
    return f"*{names[0]}" if many else names[0]


def _params(described: Description) -> str:
    bodies = {operation.body for operation in described.operations}
    inner = {
        name
        for body in described.inputs()
        for field in described.shapes[body].fields
        for name in references(field.schema)
        if name in described.shapes
    }
    names = [name for name in described.inputs() if name in inner or name in bodies]
    lines = [
        _HEADER,
        '"""Objects in requests. They are dictionaries."""\n\n',
        "from __future__ import annotations\n\n",
        "from collections.abc import Mapping, Sequence\n",
        "from typing import Any, NotRequired, TypedDict\n\n",
        "from stead_sdk import types\n",
    ]
    lines += [_dictionary(described.shapes[name], described) for name in names]
    return "".join(lines)


def _dictionary(shape: Shape, described: Description) -> str:
    def annotation(field: Field) -> str:
        kind = _annotation(field.schema, described, models="", enums="types.", sequence="Sequence")
        return kind if field.required else f"NotRequired[{kind}]"

    if any(keyword.iskeyword(field.name) for field in shape.fields):
        fields = ", ".join(f'"{field.name}": "{annotation(field)}"' for field in shape.fields)
        return f'\n\n{shape.name} = TypedDict("{shape.name}", {{{fields}}})\n'
    lines = [f"\n\nclass {shape.name}(TypedDict):\n"]
    lines.append(_docstring(shape.description or f"The fields of `{shape.name}`."))
    for field in shape.fields:
        lines.append(f"\n    {field.name}: {annotation(field)}\n")
        if field.description:
            lines.append(_docstring(field.description))
    return "".join(lines)


_BASES = {
    "invalid_request": "InvalidRequest",
    "authentication": "AuthenticationError",
    "permission": "PermissionDenied",
    "not_found": "NotFound",
    "conflict": "Conflict",
    "quota_exceeded": "QuotaExceeded",
    "rate_limit": "RateLimited",
    "api_error": "ServerFault",
}


def _error_codes(described: Description) -> str:
    lines = [
        _HEADER,
        '"""A class for every error code: `except error_codes.SiteDomainTaken`."""\n\n',
        "from stead_sdk import errors\n",
    ]
    for code, kind in described.error_types.items():
        base = _BASES.get(kind, "APIError")
        lines.append(f'\n\nclass {camel_case(code)}(errors.{base}):\n    """`{code}`"""\n')
    lines.append("\n\nBY_CODE: dict[str, type[errors.APIError]] = {\n")
    lines += [f'    "{code}": {camel_case(code)},\n' for code in described.error_types]
    lines.append("}\n")
    return "".join(lines)


def _index(described: Description) -> str:
    classes = {name: f"Async{camel_case(name)}" for name in described.resources}
    lines = [
        _HEADER,
        '"""The resources of the client. Each is imported when it is used."""\n\n',
        "from functools import cached_property\nfrom typing import TYPE_CHECKING, cast\n\n",
        "if TYPE_CHECKING:\n    from stead_sdk._async.client import AsyncStead\n",
    ]
    lines += [f"    from stead_sdk._async.resources.{name} import {kind}\n" for name, kind in classes.items()]
    lines.append("\n\nclass AsyncResources:\n")
    for name, kind in classes.items():
        lines += [
            f'    @cached_property\n    def {name}(self) -> "{kind}":\n',
            f"        from stead_sdk._async.resources.{name} import {kind}\n\n",
            f'        return {kind}(cast("AsyncStead", self))\n\n',
        ]
    return "".join(lines).rstrip("\n") + "\n"


def _resource(name: str, operations: list[Operation], described: Description) -> str:
    methods = "\n".join(
        method
        for operation in operations
        for method in (_method(operation, described), _following(operation, described))
        if method
    )
    imports = [
        "from __future__ import annotations\n\n",
        "from typing import TYPE_CHECKING, Any\n\n",
        "from stead_sdk import types\n",
        _import_used("stead_sdk._async.client", ("in_path", "returned"), methods),
        _import_used("stead_sdk._async.jobs", ("AsyncJobHandle", "JobEvent", "field_of", "follow"), methods),
        _import_used("stead_sdk._async.live", ("LiveEvent", "follow_live"), methods),
        _import_used("stead_sdk._async.pages", ("AsyncPager",), methods),
        _import_used("stead_sdk._async.resource", ("AsyncResource", "result_of"), f"AsyncResource {methods}"),
        _import_used("stead_sdk._omit", ("OMIT", "Omit"), methods),
    ]
    checking = [
        "    from collections.abc import AsyncIterator, Mapping, Sequence\n\n",
        "    from stead_sdk import params\n",
    ]
    return "".join(
        [
            _HEADER,
            f'"""{name.replace("_", " ").capitalize()}."""\n\n',
            *imports,
            "\nif TYPE_CHECKING:\n",
            *checking,
            f"\n\nclass Async{camel_case(name)}(AsyncResource):\n",
            methods,
        ]
    )


def _import_used(module: str, names: Iterable[str], text: str) -> str:
    used = [name for name in names if name in text]
    return f"from {module} import {', '.join(used)}\n" if used else ""


def _method(operation: Operation, described: Description) -> str:
    name = _attribute(operation.action)
    fields = _body_fields(operation, described)
    asynchronous = "" if operation.kind in ("list", "stream") else "async "
    returns = _returned_type(operation, described)
    return (
        f"    {asynchronous}def {name}({_arguments(operation, fields, described)}) -> {returns}:\n"
        + _docstring(operation.summary, operation.description, _scopes(operation), indent=8)
        + _statements(operation, fields, described)
    )


def _following(operation: Operation, described: Description) -> str:
    """The method that follows what is new, if the operation can do that."""
    if operation.follows is None:
        return ""
    arguments = _arguments(operation, (), described)
    query, model = _dictionary_of(operation.query), f"types.{operation.follows}"
    return (
        f"    def follow_{operation.action}({arguments}) -> AsyncIterator[LiveEvent[{model}]]:\n"
        + _docstring(
            f"Follow what is new: {operation.summary[:1].lower()}{operation.summary[1:]}",
            "It ends when you stop. After a broken connection it goes on with an event `reconnected`, and"
            " what arrived meanwhile is missing.",
            _scopes(operation),
            indent=8,
        )
        + f"        return follow_live(self._client, {_path(operation)}, {query}, {model})\n"
    )


def _scopes(operation: Operation) -> str:
    return f"Scopes: {', '.join(f'`{scope}`' for scope in operation.scopes)}." if operation.scopes else ""


def _arguments(operation: Operation, fields: tuple[Field, ...], described: Description) -> str:
    given = [*(f"{each}: str" for each in operation.path_parameters)]
    query = [field for field in operation.query if field.name != "cursor"]
    keywords = [
        *(
            _argument(field, described)
            for field in fields
            if field.required and not operation.body_is_optional
        ),
        *(_argument(field, described) for field in query if field.required),
        *(_argument(field, described, optional=True) for field in _optional(operation, fields)),
        *(_argument(field, described, optional=True) for field in query if not field.required),
    ]
    return ", ".join(["self", *given, *(["*", *keywords] if keywords else [])])


def _path(operation: Operation) -> str:
    """The expression of the path."""
    path = operation.path
    for name in operation.path_parameters:
        path = path.replace(f"{{{name}}}", f"{{in_path({name})}}")
    return f'f"{path}"' if operation.path_parameters else f'"{path}"'


def _body_fields(operation: Operation, described: Description) -> tuple[Field, ...]:
    if operation.body is None:
        return ()
    fields = described.shapes[operation.body].fields
    taken = {*operation.path_parameters} & {field.name for field in fields}
    if taken:
        raise ValueError(f"{operation.id}: {taken} is in the path and in the body")
    return fields


def _optional(operation: Operation, fields: Iterable[Field]) -> list[Field]:
    return [field for field in fields if operation.body_is_optional or not field.required]


def _argument(field: Field, described: Description, *, optional: bool = False) -> str:
    annotation = _annotation(field.schema, described, models="params.", enums="types.", sequence="Sequence")
    name = _attribute(field.name)
    if not optional:
        return f"{name}: {annotation}"
    plain = annotation.removesuffix(" | None")
    return f"{name}: {plain} | Omit{' | None' if plain != annotation else ''} = OMIT"


def _returned_type(operation: Operation, described: Description) -> str:
    if operation.kind == "list":
        return f"AsyncPager[types.{operation.returns}]"
    if operation.kind == "stream":
        return "AsyncIterator[JobEvent]"
    if operation.kind == "job":
        handle = f"AsyncJobHandle[{_result_type(operation, described)}]"
        return f"{handle} | types.{operation.instead_of_job}" if operation.instead_of_job else handle
    return {"none": "None", "document": "dict[str, Any]"}.get(operation.kind, f"types.{operation.returns}")


def _result_type(operation: Operation, described: Description) -> str:
    if operation.read_with is None:
        return "dict[str, Any]"
    [read] = [each for each in described.operations if each.id == operation.read_with]
    return f"types.{read.returns}"


def _statements(operation: Operation, fields: tuple[Field, ...], described: Description) -> str:
    shown = _path(operation)
    if operation.kind == "stream":
        return f"        return follow(self._client, {', '.join(operation.path_parameters)})\n"
    if operation.kind == "list":
        query = _dictionary_of(field for field in operation.query if field.name != "cursor")
        read = 'lambda query: self._client._call("GET", path, query=query)'
        return (
            f"        path = {shown}\n        return AsyncPager({read}, {query}, types.{operation.returns})\n"
        )
    call = _call(operation, shown, fields)
    if operation.kind == "job":
        return _job_statements(operation, call, described)
    return {
        "none": f"        {call}\n",
        "document": f"        found: dict[str, Any] = {call}\n        return found\n",
        "object": f"        return returned(types.{operation.returns}, {call})\n",
    }[operation.kind]


def _call(operation: Operation, path: str, fields: tuple[Field, ...]) -> str:
    arguments = [f'"{operation.method}"', path]
    if operation.query:
        arguments.append(f"query={_dictionary_of(operation.query)}")
    if operation.body is not None:
        arguments.append(f"body={_dictionary_of(fields)}")
    if operation.body_is_optional:
        arguments.append("may_lack_body=True")
    if operation.idempotent != "natural":
        arguments.append(f'idempotent="{operation.idempotent}"')
    return f"await self._client._call({', '.join(arguments)})"


def _dictionary_of(fields: Iterable[Field]) -> str:
    return "{" + ", ".join(f'"{field.name}": {_attribute(field.name)}' for field in fields) + "}"


def _job_statements(operation: Operation, call: str, described: Description) -> str:
    lines = [f"        response = {call}\n"]
    if operation.instead_of_job:
        lines += [
            '        if "links" not in response["data"]:\n',
            f"            return returned(types.{operation.instead_of_job}, response)\n",
        ]
    if operation.read_with is None:
        return "".join([*lines, "        return self._handle(response, result_of)\n"])
    [read] = [each for each in described.operations if each.id == operation.read_with]
    given = ", ".join(f'field_of(job, "{name}")' for name in read.path_parameters)
    return "".join(
        [
            *lines,
            f"\n        async def read(job: types.Job) -> types.{read.returns}:\n",
            f"            return await self._client.{read.resource}.{read.action}({given})\n\n",
            "        return self._handle(response, read)\n",
        ]
    )
