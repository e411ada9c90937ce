"""A second view of code, in which what is hidden is written out, so that rules need not know each trick.

Comments, escapes, concatenations, constant variables and calls of decoding functions with constant arguments
are replaced by their values, as PHP or JavaScript would compute them. Nothing is executed. All work is
bounded, because attackers write the code: spaces are collapsed first, and no expression can match the same
text in many ways.
"""

import base64
import binascii
import re
import string
import zlib
from collections.abc import Callable, Iterator
from urllib.parse import unquote_to_bytes

MAX_INPUT = 256 << 10
MAX_DECODED = 4 << 20
"""Bytes of all values that are decoded, of one file."""
MAX_ROUNDS = 4
MAX_VARIABLES = 200
EVALUATED = b"stead_decoded_code("
"""In the view, code that was decoded from a constant and is executed."""

_DYNAMIC = re.compile(
    rb"eval|assert|create_function|call_user_func|array_(?:map|filter|walk)|u[ak]?sort|preg_replace|include|require"
    rb"|\$\w+\s*\(|[\])}'\"]\s*\(|`|\$\{|document|\.src|Function|setTimeout",
    re.IGNORECASE,
)
_SPACES = re.compile(rb"[ \t\f\v]{2,}")
_LINES = re.compile(rb"[ \t\r\f\v]?\n[ \t\r\n\f\v]*")
_LINE_COMMENT_IN_CALL = re.compile(rb"(?://|#)[^\n]{0,200}\n ?\(")
_HEX = re.compile(rb"\\x([0-9a-fA-F]{2})")
_OCTAL = re.compile(rb"\\([0-3]?[0-7]{2})(?![0-9])")
_UNICODE = re.compile(rb"\\u\{?00([0-9a-fA-F]{2})\}?")
_CHR = re.compile(rb"\bchr\s*\(\s*(0x[0-9a-fA-F]{1,2}|\d{1,3})\s*\)", re.IGNORECASE)
_CHR_MATH = re.compile(rb"\bchr\s*\(\s*(\d{1,4})\s*([-+^])\s*(\d{1,4})\s*\)", re.IGNORECASE)
_DOUBLE = re.compile(rb'"([^"\n\\$\']{0,400000})"')
_JOIN_PHP = re.compile(rb"'\s*\.\s*'")
_JOIN_JS = re.compile(rb"'\s*\+\s*'")
_ASSIGNED = re.compile(rb"\$(\w{1,40})\s*(\.?)=\s*'([^']{0,4000})'\s*;")
_INDEXED = re.compile(rb"\$(\w{1,40})\s*[\[{]\s*(\d{1,4})\s*[\]}]")
_VARIABLE = re.compile(rb"\$(\w{1,40})(?!\s*(?:=[^=]|\[|\{|->|\w))")
_ARGUMENT = re.compile(rb"\(\s?@?\s?'([^']{0,1000000})'\s?\)")
_FUNCTION_NAME = re.compile(rb"\b(\w{4,18})\s?\Z")
_IMPLODE = re.compile(
    rb"\b(?:implode|join)\s*\(\s*(?:''\s*,\s*)?(?:array\s*\(|\[)\s*((?:'[^']{0,200}+'\s*+,?+\s*+){1,400}+)[)\]]\s*(?:,\s*''\s*)?\)",
    re.IGNORECASE,
)
_REPLACE = re.compile(
    rb"\bstr_i?replace\s*\(\s*'([^']{1,40})'\s*,\s*'([^']{0,40})'\s*,\s*'([^']{0,100000})'\s*\)",
    re.IGNORECASE,
)
_REPLACE_MANY = re.compile(
    rb"\bstr_i?replace\s*\(\s*(?:array\s*\(|\[)\s*((?:'[^']{1,20}+'\s*+,?+\s*+){1,20}+)[)\]]\s*,\s*''\s*,\s*'([^']{0,100000})'\s*\)",
    re.IGNORECASE,
)
_PACK = re.compile(rb"\bpack\s*\(\s*'H\*'\s*,\s*'([0-9a-fA-F]{0,200000})'\s*\)", re.IGNORECASE)
_XOR = re.compile(rb"'([^']{1,200})'\s*\^\s*'([^']{1,200})'")
_NOT = re.compile(rb"~\s*'([^']{1,200})'")
_CODES = re.compile(rb"String\s*\.\s*fromCharCode\s*\(\s*((?:\d{1,3}+\s*+,?+\s*+){1,20000}+)\)")
_NAMED_CALL = re.compile(rb"'(\w{2,40})'\s*\)?\s*\(")
_EVAL_OF_VALUE = re.compile(
    rb"\b(?:eval|assert|create_function)\s*\(\s*(?:''\s*,\s*)?['(@]*\s*(?:'\?>'\s*\.\s*)?\x02"
)
_VALUE = re.compile(rb"\x02(\d{1,6})\x02")
_ITEM = re.compile(rb"'([^']{0,200})'")
_PLAIN = re.compile(rb"[\x20-\x26\x28-\x5b\x5d-\x7e\t]*")
_LETTERS = string.ascii_letters.encode()
_ROT13 = bytes.maketrans(_LETTERS, _LETTERS[13:26] + _LETTERS[:13] + _LETTERS[39:] + _LETTERS[26:39])
_BLOB = re.compile(rb"['\"]([A-Za-z0-9+/]{120,1000000}={0,2})['\"]")


def decode_view(data: bytes) -> bytes | None:
    """For files in which something may be hidden (`rules/hiding.yar`). None if nothing there is executed."""
    if len(data) > MAX_INPUT:
        data = data[: MAX_INPUT * 3 // 4] + b"\n" + data[-MAX_INPUT // 4 :]
    if not _DYNAMIC.search(data):
        return None
    return _View(data).decode()


class _View:
    def __init__(self, data: bytes) -> None:
        self._text = data.replace(b"\x02", b" ")
        self._is_php = b"<?" in data
        self._text = _remove_comments(self._text)
        self._values: list[bytes] = []
        self._left = MAX_DECODED
        self._variables: dict[bytes, bytes] = {}

    def decode(self) -> bytes:
        text = _LINE_COMMENT_IN_CALL.sub(b"(", _collapse(self._text))
        text = _HEX.sub(lambda found: _printable(int(found[1], 16), found[0]), text)
        text = _UNICODE.sub(lambda found: _printable(int(found[1], 16), found[0]), text)
        text = _OCTAL.sub(lambda found: _printable(int(found[1], 8) & 255, found[0]), text)
        text = _replace_calls(text, _CHR_MATH, (b"chr",), _compute_chr)
        text = _replace_calls(text, _CHR, (b"chr",), lambda found: _quote(bytes([int(found[1], 0) & 255])))
        text = _CODES.sub(self._codes, text)
        for _ in range(MAX_ROUNDS):
            before = text
            text = self._fold(text)
            if text == before or len(text) > 4 * MAX_INPUT:
                break
        return self._write_out(text)

    def _fold(self, text: bytes) -> bytes:
        text = _DOUBLE.sub(rb"'\1'", text)
        text = (_JOIN_PHP if self._is_php else _JOIN_JS).sub(b"", text)
        text = _replace_calls(
            text, _IMPLODE, (b"implode", b"join"), lambda found: _quote(b"".join(_ITEM.findall(found[1])))
        )
        replaces = (b"str_replace", b"str_ireplace")
        text = _replace_calls(
            text, _REPLACE, replaces, lambda found: self._keep(found[3].replace(found[1], found[2]))
        )
        text = _replace_calls(text, _REPLACE_MANY, replaces, self._replace_many)
        if b"^" in text:
            text = _XOR.sub(lambda found: self._keep(_xor(found[1], found[2])), text)
        if b"~" in text:
            text = _NOT.sub(lambda found: self._keep(bytes(255 - each for each in found[1])), text)
        text = _replace_calls(
            text, _PACK, (b"pack",), lambda found: self._call(b"hex2bin", found[1], found[0])
        )
        text = self._call_functions(text)
        if self._is_php:
            text = self._propagate(text)
        return _NAMED_CALL.sub(rb" \1(", text)

    def _call_functions(self, text: bytes) -> bytes:
        """Looks for arguments first: there are fewer of them than names."""
        parts, end = [], 0
        for found in _ARGUMENT.finditer(text):
            name = _FUNCTION_NAME.search(text, max(end, found.start() - 20), found.start())
            if name is None or (function := name[1].lower()) not in _FUNCTIONS:
                continue
            whole = text[name.start() : found.end()]
            parts += [text[end : name.start()], self._call(function, found[1], whole)]
            end = found.end()
        return b"".join([*parts, text[end:]])

    def _propagate(self, text: bytes) -> bytes:
        for name, appended, value in _ASSIGNED.findall(text):
            if name in self._variables or len(self._variables) < MAX_VARIABLES:
                before = self._variables.get(name, b"") if appended else b""
                self._variables[name] = (before + value)[:4000]
        if not self._variables:
            return text
        text = _INDEXED.sub(self._index, text)
        return _VARIABLE.sub(self._substitute, text)

    def _index(self, found: re.Match[bytes]) -> bytes:
        value, position = self._variables.get(found[1], b""), int(found[2])
        return _quote(value[position : position + 1]) if position < len(value) else found[0]

    def _substitute(self, found: re.Match[bytes]) -> bytes:
        value = self._variables.get(found[1])
        return _quote(value) if value is not None else found[0]

    def _replace_many(self, found: re.Match[bytes]) -> bytes:
        value = found[2]
        for item in _ITEM.findall(found[1]):
            value = value.replace(item, b"") if item else value
        return self._keep(value)

    def _codes(self, found: re.Match[bytes]) -> bytes:
        numbers = [int(each) for each in found[1].replace(b",", b" ").split()]
        return self._keep(bytes(each & 255 for each in numbers))

    def _call(self, name: bytes, argument: bytes, whole: bytes) -> bytes:
        value = self._values[int(found[1])] if (found := _VALUE.fullmatch(argument)) else argument
        try:
            return self._keep(_FUNCTIONS[name](value))
        except (ValueError, binascii.Error, zlib.error, IndexError):
            return whole

    def _keep(self, value: bytes) -> bytes:
        """A short plain value becomes a string. Others are kept aside and written out at the end, as many as
        there is room for."""
        if len(value) <= 4000 and _PLAIN.fullmatch(value):
            return _quote(value)
        if len(value) > self._left:
            return b"''"
        self._left -= len(value)
        self._values.append(value)
        return b"'\x02%d\x02'" % (len(self._values) - 1)

    def _write_out(self, text: bytes) -> bytes:
        text = _EVAL_OF_VALUE.sub(lambda _: EVALUATED + b"\x02", text)
        parts = [text, *self._values]
        for blob in _BLOB.findall(text)[:20]:
            value = _decode_blob(blob, self._left)
            self._left -= len(value)
            parts.append(value)
        nested = [view for value in parts[1:] if (view := _decode_nested(value))]
        return b"\n".join([*parts, *nested])


def _remove_comments(text: bytes) -> bytes:
    parts, end = [], 0
    while (begin := text.find(b"/*", end)) >= 0 and (close := text.find(b"*/", begin + 2)) >= 0:
        parts.append(text[end:begin])
        end = close + 2
    return b" ".join([*parts, text[end:]])


def _collapse(text: bytes) -> bytes:
    """Lines stay lines."""
    return _LINES.sub(b"\n", _SPACES.sub(b" ", text))


def _replace_calls(
    text: bytes,
    call: re.Pattern[bytes],
    names: tuple[bytes, ...],
    replace: Callable[[re.Match[bytes]], bytes],
) -> bytes:
    """As `call.sub`, for an expression that begins with one of the names. Looking for names is faster."""
    lower = text.lower()
    places = sorted(place for name in names for place in _find_all(lower, name))
    parts, end = [], 0
    for place in places:
        if place >= end and (found := call.match(text, place)) is not None:
            parts += [text[end:place], replace(found)]
            end = found.end()
    return b"".join([*parts, text[end:]]) if parts else text


def _find_all(text: bytes, name: bytes) -> Iterator[int]:
    place = text.find(name)
    while place >= 0:
        yield place
        place = text.find(name, place + 1)


def _decode_nested(value: bytes, depth: int = 3) -> bytes | None:
    """Code in code, a few levels deep."""
    if depth == 0 or len(value) < 20 or not _DYNAMIC.search(value):
        return None
    view = _View(b"<?php " + value)
    text = _collapse(view._text)  # noqa: SLF001
    for _ in range(MAX_ROUNDS):
        before, text = text, view._fold(text)  # noqa: SLF001
        if text == before or len(text) > MAX_INPUT:
            break
    text = _EVAL_OF_VALUE.sub(lambda _: EVALUATED + b"\x02", text)
    deeper = [found for inner in view._values if (found := _decode_nested(inner, depth - 1))]  # noqa: SLF001
    return b"\n".join([text, *view._values, *deeper])[:MAX_DECODED]  # noqa: SLF001


def _decode_blob(blob: bytes, most: int) -> bytes:
    """A long constant that may be code, wherever it is used."""
    try:
        value = base64.b64decode(blob + b"=" * (-len(blob) % 4))
    except (ValueError, binascii.Error):
        return b""
    for way in (_inflate, _decompress):
        try:
            value = way(value)
            break
        except (ValueError, zlib.error):
            continue
    return value if len(value) <= most and _looks_like_text(value) else b""


def _looks_like_text(value: bytes) -> bool:
    sample = value[:2000]
    return sum(1 for each in sample if 32 <= each < 127 or each in b"\t\r\n") > len(sample) * 0.85


def _quote(value: bytes) -> bytes:
    return b"'" + value.replace(b"'", b"") + b"'"


def _printable(code: int, otherwise: bytes) -> bytes:
    return bytes([code]) if 32 <= code < 127 and code not in b"'\"\\" else otherwise


def _compute_chr(found: re.Match[bytes]) -> bytes:
    left, right = int(found[1]), int(found[3])
    value = {b"+": left + right, b"-": left - right, b"^": left ^ right}[found[2]]
    return _quote(bytes([value & 255]))


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(left, right, strict=False))


def _decode_base64(value: bytes) -> bytes:
    plain = re.sub(rb"[^A-Za-z0-9+/]", b"", value)
    return base64.b64decode(plain + b"=" * (-len(plain) % 4))


def _inflate(value: bytes) -> bytes:
    return zlib.decompressobj(-15).decompress(value, MAX_DECODED // 2)


def _decompress(value: bytes) -> bytes:
    return zlib.decompressobj(47).decompress(value, MAX_DECODED // 2)


def _uudecode(value: bytes) -> bytes:
    return b"".join(binascii.a2b_uu(line) for line in value.splitlines()[:10_000] if line and line != b"`")


_FUNCTIONS: dict[bytes, Callable[[bytes], bytes]] = {
    b"base64_decode": _decode_base64,
    b"atob": _decode_base64,
    b"gzinflate": _inflate,
    b"gzuncompress": _decompress,
    b"gzdecode": _decompress,
    b"str_rot13": lambda value: value.translate(_ROT13),
    b"strrev": lambda value: value[::-1],
    b"hex2bin": binascii.unhexlify,
    b"urldecode": unquote_to_bytes,
    b"rawurldecode": unquote_to_bytes,
    b"unescape": unquote_to_bytes,
    b"decodeuricomponent": unquote_to_bytes,
    b"convert_uudecode": _uudecode,
    b"strtolower": bytes.lower,
    b"strtoupper": bytes.upper,
    b"trim": bytes.strip,
    b"stripslashes": lambda value: value,
}
