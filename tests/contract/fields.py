"""The text fields of declared shapes, so that a suite can notice a field that it does not cover."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect


def text_fields(shape: Any) -> set[str]:
    """The dotted path of every field that holds any text; `*` is an item of a list, a key of a mapping."""
    return set(_paths(inspect.type_info(shape), (), ()))


def _paths(found: inspect.Type, path: tuple[str, ...], inside: tuple[type, ...]) -> Iterator[str]:
    match found:
        case inspect.Metadata(type=inner):
            yield from _paths(inner, path, inside)
        case inspect.StructType(cls=cls, fields=fields) if cls not in inside:
            for field in fields:
                yield from _paths(field.type, (*path, field.encode_name), (*inside, cls))
        case inspect.UnionType(types=types):
            for each in types:
                yield from _paths(each, path, inside)
        case inspect.ListType(item_type=inner) | inspect.DictType(value_type=inner):
            yield from _paths(inner, (*path, "*"), inside)
        case inspect.StrType():
            yield ".".join(path)


def values_at(value: Any, path: str) -> list[str]:
    """The texts at a dotted path of a JSON value."""
    value = msgspec.to_builtins(value)
    first, _, rest = path.partition(".")
    if first == "*":
        inner = list(value.values()) if isinstance(value, dict) else value
    else:
        inner = [value[first]] if isinstance(value, dict) and first in value else []
    if not rest:
        return [each for each in inner if isinstance(each, str)]
    return [text for each in inner for text in values_at(each, rest)]
