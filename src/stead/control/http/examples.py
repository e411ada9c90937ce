"""Builds an example of a JSON shape from the examples of its fields."""

import types
from datetime import datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct

EXAMPLE_TIME = "2026-11-15T09:30:00.000Z"


class NoExample(TypeError):
    """A field has no example and its type implies none."""


def example(kind: Any) -> Any:
    """An example value of the type, as JSON. Optional fields are included if they have an example."""
    origin = get_origin(kind)
    if origin is Annotated:
        inner, *metadata = get_args(kind)
        given = [meta.examples[0] for meta in metadata if isinstance(meta, Meta) and meta.examples]
        return given[-1] if given else example(inner)
    if origin is Literal:
        return get_args(kind)[0]
    if origin in (Union, types.UnionType):
        return example(get_args(kind)[0])
    if origin is list:
        return [example(get_args(kind)[0])]
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _of_struct(kind)
    if kind is datetime:
        return EXAMPLE_TIME
    if kind is bool:
        return True
    raise NoExample(f"give {kind!r} an example where it is used")


def _of_struct(kind: type[Struct]) -> dict[str, Any]:
    """All required fields, and the optional fields whose example differs from their default."""
    values = {}
    for field in msgspec.structs.fields(kind):
        required = field.default is NODEFAULT and field.default_factory is NODEFAULT
        try:
            value = example(field.type)
        except NoExample as error:
            if required:
                raise NoExample(f"{kind.__name__}.{field.name}: {error}") from None
            continue
        if required or value != field.default:
            values[field.encode_name] = value
    return values
