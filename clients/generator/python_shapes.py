"""Generates what the Python client receives and sends: models, parameters and errors."""

import keyword
import textwrap

from clients.generator.description import Description, Field, Json, Shape, references

HEADER = "# Generated from the API description by `make generate`.\n"
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def camel_case(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.replace(".", "_").split("_"))


def attribute(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def annotation_of(schema: Json, described: Description, *, models: str, enums: str, sequence: str) -> str:
    """The type of a value. `models` and `enums` are the modules of shapes and enums with a dot, `sequence` is
    the type of a list."""

    def inner(part: Json) -> str:
        return annotation_of(part, described, models=models, enums=enums, sequence=sequence)

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


def docstring(*parts: str, indent: int = 4) -> str:
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


def types_module(described: Description) -> str:
    lines = [
        HEADER,
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
    fields = {attribute(field.name): field for field in shape.fields}
    kinds = ", ".join(f'"{name}": {_inner_model(field, described)!r}' for name, field in fields.items())
    lines = [f"\n\nclass {shape.name}(Model):\n"]
    if shape.description:
        lines.append(docstring(shape.description) + "\n")
    lines.append(f"    _fields = {{{kinds}}}\n")
    renamed = {name: field.name for name, field in fields.items() if name != field.name}
    if renamed:
        lines.append(f"    _renamed = {renamed!r}\n")
    secrets = sorted(field.name for field in shape.fields if field.is_sensitive)
    if secrets:
        lines.append(f"    _sensitive = frozenset({secrets!r})\n")
    lines.append("\n    if TYPE_CHECKING:\n")
    for name, field in fields.items():
        annotation = annotation_of(field.schema, described, models="", enums="", sequence="list")
        if not field.required and "None" not in annotation:
            annotation += " | None"
        lines.append(f"        {name}: {annotation}\n")
        if field.description:
            lines.append(docstring(field.description, indent=8))
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


def params_module(described: Description) -> str:
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
        HEADER,
        '"""Objects in requests. They are dictionaries."""\n\n',
        "from __future__ import annotations\n\n",
        "from collections.abc import Mapping, Sequence\n",
        "from typing import Any, NotRequired, TypedDict\n\n",
        "from stead_sdk import types\n",
    ]
    lines += [_dictionary(described.shapes[name], described) for name in names]
    return "".join(lines)


def _dictionary(shape: Shape, described: Description) -> str:
    def told(field: Field) -> str:
        kind = annotation_of(field.schema, described, models="", enums="types.", sequence="Sequence")
        return kind if field.required else f"NotRequired[{kind}]"

    if any(keyword.iskeyword(field.name) for field in shape.fields):
        fields = ", ".join(f'"{field.name}": "{told(field)}"' for field in shape.fields)
        return f'\n\n{shape.name} = TypedDict("{shape.name}", {{{fields}}})\n'
    lines = [f"\n\nclass {shape.name}(TypedDict):\n"]
    lines.append(docstring(shape.description or f"The fields of `{shape.name}`."))
    for field in shape.fields:
        lines.append(f"\n    {field.name}: {told(field)}\n")
        if field.description:
            lines.append(docstring(field.description))
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


def error_codes_module(described: Description) -> str:
    lines = [
        HEADER,
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
