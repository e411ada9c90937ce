"""From the bytes of a request to the typed arguments of a handler, with errors that name the field."""

import re
from datetime import UTC, date, datetime
from typing import Any, get_args, get_type_hints
from urllib.parse import parse_qsl

import msgspec

from stead.control.http.operations import BodyInput, Operation, QueryInput
from stead.control.http.pagination import PageRequest
from stead.control.http.version_changes import History
from stead.shared.errors import CursorInvalid, FieldInvalid, RequestMalformed
from stead.shared.versions import LATEST

_AT = re.compile(r"^(?P<reason>.*?) - at `\$\.?(?P<path>.*)`$")
_FIELD = re.compile(r"(?:contains unknown field|missing required field) `(?P<field>\w+)`")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT", re.IGNORECASE)
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000|\x00")


def shape_name(kind: Any) -> str | None:
    """The name of a shape in the API description: the class name, without what only says it is a view."""
    for candidate in (kind, *get_args(kind)):
        if isinstance(candidate, type) and issubclass(candidate, msgspec.Struct):
            return candidate.__name__.removesuffix("View")
    return None


class Moments:
    """The moments among the fields of a shape: each a date and a time that exist on the calendar of UTC.

    The decoder also takes a number of seconds for a moment, and one whose offset leads out of the calendar.
    """

    def __init__(self, shape: Any) -> None:
        struct = next(
            (kind for kind in (shape, *get_args(shape)) if hasattr(kind, "__struct_fields__")), None
        )
        hints = get_type_hints(struct) if struct else {}
        self._names = [name for name, hint in hints.items() if datetime in (hint, *get_args(hint))]

    def check_text(self, values: dict[str, str]) -> None:
        for name in self._names:
            if name in values and not _RFC_3339.match(values[name]):
                raise FieldInvalid(param=name, reason="Invalid RFC3339 encoded datetime.")

    def check(self, value: Any) -> None:
        for name in self._names:
            moment = getattr(value, name, None)
            try:
                if isinstance(moment, datetime):
                    moment.astimezone(UTC)
            except OverflowError:
                raise FieldInvalid(param=name, reason="A moment lies within the years 1 to 9999.") from None


class BodyReader:
    def __init__(self, wanted: BodyInput) -> None:
        self._optional = wanted.optional
        self._type = wanted.type
        self._decoder = msgspec.json.Decoder(wanted.type)
        self._history = History(shape_name(wanted.type))
        self._moments = Moments(wanted.type)

    def read(self, raw: bytes, version: date) -> Any:
        if not raw:
            if self._optional:
                return None
            raise RequestMalformed(reason="it has no body")
        if _NUL.search(raw):
            raise RequestMalformed(reason="it contains a NUL character")
        body = self._decoded(raw, version)
        self._moments.check(body)
        return body

    def _decoded(self, raw: bytes, version: date) -> Any:
        try:
            if version is LATEST or not self._history.since(version):
                return self._decoder.decode(raw)
            newer = self._history.upgrade_request(msgspec.json.decode(raw), version)
            return msgspec.convert(newer, self._type)
        except msgspec.ValidationError as error:
            raise field_error(error) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RequestMalformed(reason=str(error).rstrip(".")) from None


class QueryReader:
    """Unknown parameters are ignored; of one that is repeated the last counts."""

    def __init__(self, operation: Operation) -> None:
        filters: QueryInput | None = operation.input(QueryInput)
        self._type = filters.type if filters else None
        self._moments = Moments(self._type)
        self._operation, self._page_size = operation.id, str(operation.page_size)

    def filters(self, values: dict[str, str]) -> Any:
        self._moments.check_text(values)
        try:
            filters = msgspec.convert(values, self._type, strict=False)
        except msgspec.ValidationError as error:
            raise field_error(error) from None
        self._moments.check(filters)
        return filters

    def page(self, values: dict[str, str], path: str, filters: Any) -> PageRequest:
        wanted = values.get("limit", self._page_size)
        if not _NUMBER.fullmatch(wanted):
            raise FieldInvalid(param="limit", reason="`limit` is a whole number.")
        limit = int(wanted)
        cursor = values.get("cursor")
        if cursor is not None and not cursor.isascii():
            raise CursorInvalid
        walk = b"%b %b %b" % (self._operation.encode(), path.encode(), msgspec.json.encode(filters))
        return PageRequest.read(limit=limit, cursor=cursor or None, walk=walk)


def query_values(raw: bytes) -> dict[str, str]:
    if not raw:
        return {}
    if b"%00" in raw:
        raise RequestMalformed(reason="it contains a NUL character")
    try:
        return dict(parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict"))
    except ValueError:
        raise RequestMalformed(reason="its query is not UTF-8") from None


def field_error(error: msgspec.ValidationError) -> FieldInvalid:
    """Msgspec's sentence, split into the path of the field and what is wrong with it."""
    text = str(error)
    at = _AT.match(text)
    reason, path = (at["reason"], at["path"]) if at else (text, "")
    field = _FIELD.search(reason)
    param = ".".join(part for part in (path, field["field"] if field else "") if part)
    return FieldInvalid(param=param or None, reason=f"{reason}.")
