"""Says in words what is wrong with a value of a request, and what is expected instead.

The decoder finds out quickly that a request is wrong. Its messages name Python types and regular expressions,
so they are not shown: the request is compared with its declared shape again, and the first difference is
described here (decision 0047). A pattern has its words in `extra` of its `Meta`: `expected`, one or two
sentences, and optionally `noun`, what such a value is called.
"""

import difflib
import enum
import math
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, UnsetType

from stead.control.http.examples import NoExample, example
from stead.shared.errors import FieldInvalid
from stead.shared.sensitive import SENSITIVE
from stead.shared.wording import noun_of, quote, singular, with_article

MAX_LISTED = 20
"""How many allowed values a message lists."""
EXAMPLE_TIME = "2026-11-15T09:30:00Z"
_SECRET = re.compile(r"password|secret|token|public_key")
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:?\d\d)?", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value is, and what is known about it from the annotations around it."""

    path: tuple[str, ...] = ()
    name: str = ""
    is_text: bool = False
    """Whether all values are text, as in a query."""
    metas: tuple[Meta, ...] = ()

    def inner(self, step: str, name: str) -> "_Place":
        return _Place((*self.path, step), name, self.is_text)

    @property
    def noun(self) -> str:
        return str(self.words("noun") or noun_of(self.name))

    def words(self, key: str) -> str | None:
        return next(
            (meta.extra[key] for meta in reversed(self.metas) if meta.extra and key in meta.extra), None
        )

    @property
    def is_sensitive(self) -> bool:
        """Whether the shape declares it as a secret, whatever its name is."""
        return any((meta.extra_json_schema or {}).items() >= SENSITIVE.items() for meta in self.metas)

    def limit(self, name: str) -> Any:
        return next((found for meta in self.metas if (found := getattr(meta, name)) is not None), None)

    def error(self, reason: str) -> FieldInvalid:
        return FieldInvalid(param=".".join(self.path) or None, reason=reason)

    def shown(self, value: Any) -> str:
        """The value as it was sent. Secrets are not repeated."""
        if _SECRET.search(self.name) or self.is_sensitive:
            return "This"
        if isinstance(value, str):
            return quote(value)
        if isinstance(value, dict):
            return "An object"
        if isinstance(value, list):
            return "A list"
        text = quote(msgspec.json.encode(value).decode())[1:-1]
        return f"The value {text}" if value is None or isinstance(value, bool) else text


def explain(kind: Any, value: Any, *, is_text: bool = False) -> FieldInvalid | None:
    """The first problem of a value, or None. `is_text`: numbers and the like are given as text."""
    return next(_problems(kind, value, _Place(is_text=is_text)), None)


def _problems(kind: Any, value: Any, place: _Place) -> Iterator[FieldInvalid]:
    origin = get_origin(kind)
    if origin is Annotated:
        inner, *metadata = get_args(kind)
        metas = tuple(each for each in metadata if isinstance(each, Meta))
        yield from _problems(inner, value, replace(place, metas=(*metas, *place.metas)))
    elif origin in (Union, types.UnionType):
        yield from _union_problems(get_args(kind), value, place)
    elif origin is Literal:
        yield from _choice_problems(get_args(kind), value, place)
    elif origin in (list, tuple, set, frozenset):
        yield from _list_problems(get_args(kind)[0], value, place)
    elif origin is dict:
        yield from _mapping_problems(get_args(kind), value, place)
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from _object_problems(kind, value, place)
    elif isinstance(kind, type) and issubclass(kind, enum.Enum):
        yield from _choice_problems([each.value for each in kind], value, place)
    elif kind in _SCALARS:
        yield from _SCALARS[kind](value, place)


def _union_problems(kinds: Sequence[Any], value: Any, place: _Place) -> Iterator[FieldInvalid]:
    if value is None and types.NoneType in kinds:
        return
    possible = [kind for kind in kinds if kind not in (types.NoneType, UnsetType)]
    found = [next(_problems(kind, value, place), None) for kind in possible]
    if None not in found:
        yield from (each for each in found[:1] if each is not None)


def _choice_problems(choices: Sequence[Any], value: Any, place: _Place) -> Iterator[FieldInvalid]:
    if any(value == each and type(value) is type(each) for each in choices):
        return
    refusal = f"{place.shown(value)} is not {with_article(place.noun)}."
    if str(value) in map(str, choices) and isinstance(value, str | int | float):
        needed = "text" if isinstance(choices[0], str) else "a number"
        refusal = f"The {place.noun} must be {needed}, not {_kind_of(value)}."
    yield place.error(f"{refusal} {list_choices(choices)}")


def list_choices(choices: Sequence[Any]) -> str:
    """All of them where they are few, some of them where they are many."""
    if len(choices) <= MAX_LISTED:
        return f"Use one of: {', '.join(map(str, choices))}."
    return f"Use for example: {', '.join(map(str, choices[:3]))}."


def _list_problems(item: Any, value: Any, place: _Place) -> Iterator[FieldInvalid]:
    if not isinstance(value, list):
        yield place.error(_mismatch(value, place, "a list", [_example(item)]))
        return
    yield from _length_problems(len(value), place, "item", "items")
    for index, each in enumerate(value):
        yield from _problems(item, each, place.inner(str(index), singular(place.name)))


def _mapping_problems(kinds: Sequence[Any], value: Any, place: _Place) -> Iterator[FieldInvalid]:
    if not isinstance(value, dict):
        yield place.error(_mismatch(value, place, "an object"))
        return
    yield from _length_problems(len(value), place, "field", "fields")
    for key, each in value.items():
        yield from _problems(kinds[0], key, replace(place, name="name", metas=()))
        yield from _problems(kinds[1], each, place.inner("*", singular(place.name)))


def _object_problems(kind: type[msgspec.Struct], value: Any, place: _Place) -> Iterator[FieldInvalid]:
    if not isinstance(value, dict):
        yield place.error(_mismatch(value, place, "an object"))
        return
    fields, hints = _fields_of(kind)
    if kind.__struct_config__.forbid_unknown_fields:
        for name in [each for each in value if each not in fields]:
            yield place.inner(name[:100], name).error(_unknown_field(name, list(fields)))
    for name, field in fields.items():
        inner = place.inner(name, name)
        if name in value:
            yield from _problems(hints[field.name], value[name], inner)
        elif field.default is NODEFAULT and field.default_factory is NODEFAULT:
            shown = _example(hints[field.name])
            yield inner.error(f"The field {quote(name)} is missing.{_such_as(shown)}")


@cache
def _fields_of(kind: type[msgspec.Struct]) -> tuple[dict[str, msgspec.structs.FieldInfo], dict[str, Any]]:
    fields = {each.encode_name: each for each in msgspec.structs.fields(kind)}
    return fields, get_type_hints(kind, include_extras=True)


def _unknown_field(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name[:100], known, 1)
    if close:
        return f"There is no field {quote(name)}. Did you mean {quote(close[0])}?"
    return f"There is no field {quote(name)} here. {list_choices(known)}"


def _text_problems(value: Any, place: _Place) -> Iterator[FieldInvalid]:
    if not isinstance(value, str):
        yield place.error(_mismatch(value, place, "text", place_example(place)))
        return
    yield from _length_problems(len(value), place, "character", "characters")
    pattern = place.limit("pattern")
    if pattern is not None and not re.search(pattern, value):
        expected = place.words("expected")
        yield place.error(
            f"{place.shown(value)} is not {with_article(place.noun)}."
            f"{f' {expected}' if expected else ''}{_such_as(place_example(place))}"
        )


def _length_problems(length: int, place: _Place, one: str, many: str) -> Iterator[FieldInvalid]:
    least, most = place.limit("min_length") or 0, place.limit("max_length")
    if least <= length and (most is None or length <= most):
        return
    subject = f"The {place.noun} has" if one == "character" else f"The field {quote(place.name)} has"
    count = f"{length} {one if length == 1 else many}"
    if most is None or length < least:
        allowed = f"At least {least} {'is' if least == 1 else 'are'} required"
    else:
        allowed = f"At most {most} {'is' if most == 1 else 'are'} allowed"
    yield place.error(f"{subject} {count}. {allowed}.{_such_as(place_example(place)) if not length else ''}")


def _truth_problems(value: Any, place: _Place) -> Iterator[FieldInvalid]:
    as_text = place.is_text and isinstance(value, str) and value.lower() in ("true", "false", "1", "0")
    if not isinstance(value, bool) and not as_text:
        yield place.error(f"{place.shown(value)} is neither true nor false.")


def _integer_problems(value: Any, place: _Place) -> Iterator[FieldInvalid]:
    if place.is_text and isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        yield place.error(f"{place.shown(value)} is not a whole number. {_range(place, 'a whole number')}")
    else:
        yield from _range_problems(value, place, "a whole number")


def _number_problems(value: Any, place: _Place) -> Iterator[FieldInvalid]:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        yield place.error(f"{place.shown(value)} is not a number. {_range(place, 'a number')}")
    else:
        yield from _range_problems(value, place, "a number")


def _range_problems(value: float, place: _Place, what: str) -> Iterator[FieldInvalid]:
    least, most, above, below = (place.limit(name) for name in ("ge", "le", "gt", "lt"))
    if (
        (least is not None and value < least)
        or (most is not None and value > most)
        or (above is not None and value <= above)
        or (below is not None and value >= below)
        or abs(value) >= 2**63
    ):
        subject = f"The {place.noun} cannot be {place.shown(value)}." if place.name else ""
        yield place.error(f"{subject} {_range(place, what)}".strip())


def _range(place: _Place, what: str) -> str:
    parts = []
    for name, word in (("ge", "of at least"), ("gt", "above"), ("le", "of at most"), ("lt", "below")):
        if (limit := place.limit(name)) is not None:
            parts.append(f"{word} {limit}")
    least, most = place.limit("ge"), place.limit("le")
    if least is not None and most is not None:
        return f"Use {what} from {least} to {most}."
    return f"Use {what}{' ' if parts else ''}{' and '.join(parts)}."


def _time_problems(value: Any, place: _Place) -> Iterator[FieldInvalid]:
    if not isinstance(value, str) or not _RFC_3339.fullmatch(value) or not _is_in_calendar(value):
        yield place.error(f"{place.shown(value)} is not a date and time. Use for example: {EXAMPLE_TIME}.")
    elif place.limit("tz") and not re.search(r"(?:[Zz]|[+-]\d\d:?\d\d)$", value):
        yield place.error(f"{place.shown(value)} has no time zone. Use for example: {EXAMPLE_TIME}.")


def _is_in_calendar(text: str) -> bool:
    try:
        msgspec.convert(text, datetime)
    except msgspec.ValidationError:
        return False
    return True


_SCALARS: Mapping[Any, Any] = {
    str: _text_problems,
    bool: _truth_problems,
    int: _integer_problems,
    float: _number_problems,
    datetime: _time_problems,
}


def _mismatch(value: Any, place: _Place, expected: str, shown: Any = None) -> str:
    subject = f"The field {quote(place.name)} must be {expected}"
    if not place.name:
        subject = f"The body must be {expected}"
    elif expected == "text":
        subject = f"The {place.noun} must be text"
    if place.is_text or value is None:
        return f"{subject}.{_such_as(shown)}"
    return f"{subject}, not {_kind_of(value)}.{_such_as(shown)}"


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "text"
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else "a number"


def place_example(place: _Place) -> Any:
    return next((meta.examples[0] for meta in reversed(place.metas) if meta.examples), None)


def _example(kind: Any) -> Any:
    try:
        return example(kind)
    except NoExample:
        return None


def _such_as(shown: Any) -> str:
    if shown is None or shown in ([None], []):
        return ""
    text = shown if isinstance(shown, str) else msgspec.json.encode(shown).decode()
    return f" Use for example: {text}." if len(text) <= 200 else ""
