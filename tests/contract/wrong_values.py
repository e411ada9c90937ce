"""Wrong values for every field of a declared shape, and what a message to a customer must not contain."""

import copy
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec import inspect

LEAKS = re.compile(
    r"""
    \(\?[!=:<P] | \[\^ | \[[aA0]-[zZ9] | \\[nsdwxu] | \$\( | \{\d+,\d*\} | [*+]\$    # regular expressions
    | `(?:str|int|float|bool|null|array|object|dict|list|bytes)`                     # names of types
    | \b(?:NoneType|dict|tuple|frozenset|Struct|Literal|Annotated|datetime\.|UNSET|Enum)\b
    | \bExpected\b | matching[ ]regex | \bInvalid[ ](?:enum|value|RFC|base64|datetime)
    | JSON[ ]is[ ]malformed | Object[ ](?:contains|missing) | trailing[ ]characters | Input[ ]data
    | msgspec | pydantic | idna | \bCodepoint\b | psycopg | Traceback | Errno | codec
    | \bNone\b | \bTrue\b | \bFalse\b | \$\.     # Python, paths of the decoder
    | [ ]-[ ]at[ ]
    """,
    re.VERBOSE,
)
WRONG: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**30, "", "wat", " a b ", "ä\u2028é", "\x1b[0m", "(?i)^[a-z]{3,}$"),
    *([], [None], ["wat"], [1], {}, {"wat": 1}, "x" * 20_000),
)
ABSENT = object()


@dataclass(frozen=True)
class Spoiled:
    """A body with one wrong value."""

    path: str
    value: Any
    body: Any


def field_paths(shape: Any) -> list[tuple[str, ...]]:
    """Every field of a shape, however deep; `0` is the first item of a list."""
    return list(dict.fromkeys(_paths(inspect.type_info(shape), (), ())))


def spoil(body: Any, shape: Any) -> Iterator[Spoiled]:
    """The body with each wrong value in each field, without the field, and with an unknown field."""
    for path in field_paths(shape):
        for value in (*WRONG, ABSENT):
            changed = _put(copy.deepcopy(body), path, value)
            if changed is not None:
                yield Spoiled(".".join(path), value, changed)


def _paths(found: inspect.Type, path: tuple[str, ...], inside: tuple[type, ...]) -> Iterator[tuple[str, ...]]:
    if path:
        yield path
    match found:
        case inspect.Metadata(type=inner):
            yield from _paths(inner, path, inside)
        case inspect.StructType(cls=cls, fields=fields) if cls not in inside:
            for field in fields:
                yield from _paths(field.type, (*path, field.encode_name), (*inside, cls))
        case inspect.UnionType(types=types):
            for each in types:
                yield from _paths(each, path, inside)
        case inspect.ListType(item_type=inner):
            yield from _paths(inner, (*path, "0"), inside)
        case inspect.DictType(value_type=inner):
            yield from _paths(inner, (*path, "wat"), inside)


def _put(body: Any, path: tuple[str, ...], value: Any) -> Any:
    """The body with the value at the path. Objects and lists on the way are created."""
    place = body
    for step, following in itertools.pairwise(path):
        empty: Any = [] if following == "0" else {}
        if isinstance(place, list):
            if not place:
                place.append(empty)
            if not isinstance(place[0], dict | list):
                place[0] = empty
            place = place[0]
        else:
            if not isinstance(place.get(step), dict | list) or (following == "0") != isinstance(
                place[step], list
            ):
                place[step] = empty
            place = place[step]
    last = path[-1]
    if isinstance(place, list):
        if value is ABSENT:
            return None
        place[:1] = [value]
    elif value is ABSENT:
        if last not in place:
            return None
        del place[last]
    else:
        place[last] = value
    return body
