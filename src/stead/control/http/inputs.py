"""Decodes the body and query of a request into the typed arguments of a handler. Errors name the field."""

import re
from datetime import UTC, date, datetime
from typing import Any, get_args, get_type_hints
from urllib.parse import parse_qsl

import msgspec

from stead.control.http.field_errors import EXAMPLE_TIME, explain
from stead.control.http.operations import BodyInput, Operation, QueryInput
from stead.control.http.pagination import PageRequest
from stead.control.http.version_changes import History
from stead.shared.errors import CursorInvalid, FieldInvalid, RequestMalformed
from stead.shared.versions import LATEST
from stead.shared.wording import quote

_AT = re.compile(r"^(?P<reason>.*?) - at (?:`key` in )?`\$(?P<path>.*)`$")
_INDEX = re.compile(r"\[(\d+|\.\.\.)\]")
_FIELD = re.compile(r"(?:contains unknown field|missing required field) `(?P<field>\w+)`")
_BYTE = re.compile(r"\(byte (\d+)\)")
_FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
_FORM = re.compile(rb"[\w.%+\[\]-]{1,100}=|--[\w-]{1,70}\r?\n")
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_NUMBER = re.compile(r"[0-9]{1,18}")
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT", re.IGNORECASE)
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000|\x00")


def shape_name(kind: Any) -> str | None:
    """The name of a shape in the API description: the class name without the suffix `View`."""
    for candidate in (kind, *get_args(kind)):
        if isinstance(candidate, type) and issubclass(candidate, msgspec.Struct):
            return candidate.__name__.removesuffix("View")
    return None


class DatetimeFields:
    """The fields of a shape that hold a date and time.

    The decoder also accepts a number of seconds, and a time that is outside the calendar when converted to
    UTC. Both are refused here.
    """

    def __init__(self, shape: Any) -> None:
        struct = next(
            (kind for kind in (shape, *get_args(shape)) if hasattr(kind, "__struct_fields__")), None
        )
        hints = get_type_hints(struct) if struct else {}
        sent_as = (
            dict(zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True))
            if struct
            else {}
        )
        self._names = {
            name: sent_as[name] for name, hint in hints.items() if datetime in (hint, *get_args(hint))
        }
        """As they are sent, by the names of the attributes."""

    def check_text(self, values: dict[str, str]) -> None:
        for name in self._names.values():
            if name in values and not _RFC_3339.match(values[name]):
                reason = f"{quote(values[name])} is not a date and time. Use for example: {EXAMPLE_TIME}."
                raise FieldInvalid(param=name, reason=reason)

    def check(self, value: Any) -> None:
        for attribute, name in self._names.items():
            time = getattr(value, attribute, None)
            try:
                if isinstance(time, datetime):
                    time.astimezone(UTC)
            except OverflowError:
                raise FieldInvalid(param=name, reason="The year must be between 1 and 9999.") from None


class BodyReader:
    def __init__(self, body: BodyInput) -> None:
        self._optional = body.optional
        self._type = body.type
        self._decoder = msgspec.json.Decoder(body.type)
        self._history = History(shape_name(body.type))
        self._datetimes = DatetimeFields(body.type)

    def read(self, raw: bytes, version: date, content_type: str = "") -> Any:
        if not raw:
            if self._optional:
                return None
            raise RequestMalformed(reason="it has no body. A JSON object is expected")
        if _NUL.search(raw):
            raise RequestMalformed(reason="it contains a NUL character")
        body = self._decode(raw, version, content_type)
        self._datetimes.check(body)
        return body

    def _decode(self, raw: bytes, version: date, content_type: str) -> Any:
        newer: Any = None
        try:
            if version is LATEST or not self._history.since(version):
                return self._decoder.decode(raw)
            newer = self._history.upgrade_request(msgspec.json.decode(raw), version)
            return msgspec.convert(newer, self._type)
        except msgspec.ValidationError as error:
            sent = _any_json(raw, content_type) if newer is None else newer
            raise field_error(error, self._type, sent) from None
        except _UNREADABLE as error:
            raise RequestMalformed(reason=_describe_malformed(raw, content_type, error)) from None


class QueryReader:
    """Reads the query. Unknown parameters are ignored. Of a repeated parameter, the last value is used."""

    def __init__(self, operation: Operation) -> None:
        filters: QueryInput | None = operation.input_of(QueryInput)
        self._type = filters.type if filters else None
        self._datetimes = DatetimeFields(self._type)
        self._operation, self._page_size = operation.id, str(operation.page_size)

    def filters(self, values: dict[str, str]) -> Any:
        self._datetimes.check_text(values)
        try:
            filters = msgspec.convert(values, self._type, strict=False)
        except msgspec.ValidationError as error:
            raise field_error(error, self._type, values, is_text=True) from None
        self._datetimes.check(filters)
        return filters

    def page(self, values: dict[str, str], path: str, filters: Any) -> PageRequest:
        limit_text = values.get("limit", self._page_size)
        limit = int(limit_text) if _NUMBER.fullmatch(limit_text) else 0
        if limit < 1:
            raise FieldInvalid(
                param="limit", reason="`limit` must be a whole number of at least 1. Use for example: 50."
            )
        cursor = values.get("cursor")
        if cursor is not None and not cursor.isascii():
            raise CursorInvalid
        list_key = b"%b %b %b" % (self._operation.encode(), path.encode(), msgspec.json.encode(filters))
        return PageRequest.read(limit=limit, cursor=cursor or None, list_key=list_key)


def query_values(raw: bytes) -> dict[str, str]:
    if not raw:
        return {}
    if b"%00" in raw:
        raise RequestMalformed(reason="it contains a NUL character")
    try:
        return dict(parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict"))
    except ValueError:
        raise RequestMalformed(reason="its query is not UTF-8") from None


def field_error(
    error: msgspec.ValidationError, kind: Any, value: Any, *, is_text: bool = False
) -> FieldInvalid:
    """What is wrong with a value that the decoder refuses, in words.

    The path has dots only: `redirects.0.from`. Any key of an object with free keys is `*`.
    """
    return explain(kind, value, is_text=is_text) or FieldInvalid(
        param=_path_of(str(error)) or None, reason="This value is not accepted."
    )


def _path_of(message: str) -> str:
    """The field that a message of the decoder names."""
    at, field = _AT.match(message), _FIELD.search(message)
    path = _INDEX.sub(_dotted_index, at["path"]) if at else ""
    return ".".join(part for part in (path.removeprefix("."), field["field"] if field else "") if part)


def _any_json(raw: bytes, content_type: str) -> Any:
    try:
        return msgspec.json.decode(raw)
    except _UNREADABLE as error:
        raise RequestMalformed(reason=_describe_malformed(raw, content_type, error)) from None


def _describe_malformed(raw: bytes, content_type: str, error: Exception) -> str:
    """Without the words of the decoder, which may also name what it expected internally."""
    if content_type.partition(";")[0].strip().lower() in _FORMS or _FORM.match(raw):
        return "its body is a form. Send JSON, with `Content-Type: application/json`"
    if isinstance(error, UnicodeDecodeError) or not _is_utf8(raw):
        return "its body is not UTF-8"
    if isinstance(error, RecursionError):
        return "its JSON is nested too deeply"
    position = _BYTE.search(str(error))
    if "out of range" in str(error):
        return "it contains a number that is too large"
    if position is None:
        return "its JSON ends too early" if raw.strip() else "its body is empty"
    return f"its body is not valid JSON, near byte {int(position[1]) + 1}"


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _dotted_index(index: re.Match[str]) -> str:
    return ".*" if index[1] == "..." else f".{index[1]}"
