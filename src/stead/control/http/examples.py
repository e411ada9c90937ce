"""An example of any shape, put together from the examples of its fields."""

import types
from datetime import datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct

MOMENT = "2026-11-15T09:30:00.000Z"


class NoExample(TypeError):
    """A field says nothing that an example could be made from."""


def example(kind: Any) -> Any:
    """A value of the type as it looks in JSON. Optional fields are in it when they have an example."""
    origin = get_origin(kind)
    if origin is Annotated:
        inner, *notes = get_args(kind)
        given = [note.examples[0] for note in notes if isinstance(note, Meta) and note.examples]
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
        return MOMENT
    if kind is bool:
        return True
    raise NoExample(f"give {kind!r} an example where it is used")


def _of_struct(kind: type[Struct]) -> dict[str, Any]:
    """Every field that must be there, and the others where their example says more than their default."""
    shown = {}
    for field in msgspec.structs.fields(kind):
        required = field.default is NODEFAULT and field.default_factory is NODEFAULT
        try:
            value = example(field.type)
        except NoExample as error:
            if required:
                raise NoExample(f"{kind.__name__}.{field.name}: {error}") from None
            continue
        if required or value != field.default:
            shown[field.encode_name] = value
    return shown
