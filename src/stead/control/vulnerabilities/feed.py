"""Reads a vulnerability feed: one large JSON object of records, piece by piece, with little memory."""

import hashlib
import json
import re
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from stead.control.vulnerabilities.rules import FeedBroken, Record

MAX_BYTES = 1 << 30
MAX_RECORD = 4 << 20
_CHUNK = 1 << 20
_SECONDS = 60.0
_SPACE = " \t\r\n"
_NUL = r"\u0000"
_IS_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""As JSON has it, if the backslash is not itself escaped; PostgreSQL cannot store it."""
_HALVES = (r"\ud", r"\uD")
"""How JSON may begin half of a character. Most texts have none, and to look for a fixed text is fast."""


class Unreadable(NamedTuple):
    """A record that cannot be read."""

    id: str
    reason: str


@contextmanager
def opened(source: str, key: str) -> Iterator[IO[bytes]]:
    """A complete local copy of the feed: it is read twice. Blocks. Raises FeedBroken."""
    with tempfile.TemporaryFile() as copy:
        try:
            if source.startswith("/"):
                with Path(source).open("rb") as file:
                    _copy(file, copy)
            else:
                headers = {"Authorization": f"Bearer {key}"} if key else {}
                request = urllib.request.Request(source, headers=headers)  # noqa: S310 - https, by the settings
                with _opener().open(request, timeout=_SECONDS) as response:
                    _copy(response, copy)
        except (OSError, urllib.error.URLError, ValueError) as error:
            raise FeedBroken(f"The feed cannot be read ({type(error).__name__}).") from None
        copy.seek(0)
        yield copy


def _opener() -> urllib.request.OpenerDirector:
    """Without proxies and redirects: the key is for one address."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects())


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def _copy(source: IO[bytes], copy: IO[bytes]) -> None:
    size = 0
    while piece := source.read(_CHUNK):
        size += len(piece)
        if size > MAX_BYTES:
            raise FeedBroken("The feed is too large.")
        copy.write(piece)


def digest_of(copy: IO[bytes]) -> str:
    made = hashlib.sha256()
    copy.seek(0)
    while piece := copy.read(_CHUNK):
        made.update(piece)
    copy.seek(0)
    return made.hexdigest()


def read_records(copy: IO[bytes]) -> Iterator[tuple[Record, str] | Unreadable]:
    """The records with their digests. Raises FeedBroken if the feed itself cannot be read."""
    for id_, value, text in _members(copy):
        try:
            record = msgspec.convert(value, Record, strict=False)
            if any(half in text for half in _HALVES):
                json.dumps(value, ensure_ascii=False).encode()
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            yield Unreadable(id_, f"The record {id_[:60]!a} cannot be read: {str(error)[:200]}")
            continue
        if _NUL in text and _IS_NUL.search(text):
            yield Unreadable(id_, f"The record {id_[:60]!a} has a character that no text has.")
        else:
            yield record, hashlib.sha256(text.encode()).hexdigest()


def _members(copy: IO[bytes]) -> Iterator[tuple[str, object, str]]:
    """Keys and values, and the text of each value."""
    decoder, reader = json.JSONDecoder(), _Reader(copy)
    reader.expect("{")
    if reader.peek() == "}":
        return
    while True:
        key, _ = reader.decode(decoder)
        if not isinstance(key, str):
            raise FeedBroken("The feed is not an object of records.")
        reader.expect(":")
        yield key, *reader.decode(decoder)
        if reader.peek() == "}":
            return
        reader.expect(",")


class _Reader:
    """Text that is read when it is needed, and forgotten when it was used."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._text, self._place = file, "", 0
        self._rest = b""

    def peek(self) -> str:
        while True:
            while self._place < len(self._text) and self._text[self._place] in _SPACE:
                self._place += 1
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._read_more():
                raise FeedBroken("The feed ends too early.")

    def expect(self, character: str) -> None:
        if self.peek() != character:
            raise FeedBroken("The feed is not an object of records.")
        self._place += 1

    def decode(self, decoder: json.JSONDecoder) -> tuple[object, str]:
        """The next value, and its text. Strings and objects have an end of their own, so a value that can be
        read is complete."""
        if self.peek() not in '"{':
            raise FeedBroken("The feed is not an object of records.")
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._place)
            except (ValueError, RecursionError):
                if len(self._text) - self._place > MAX_RECORD:
                    raise FeedBroken("A record of the feed is too large or cannot be read.") from None
                if not self._read_more():
                    raise FeedBroken("The feed ends too early, or cannot be read.") from None
                continue
            text, self._place = self._text[self._place : end], end
            return value, text

    def _read_more(self) -> bool:
        piece = self._rest + self._file.read(_CHUNK)
        if not piece:
            return False
        # A character may be divided between two pieces.
        for cut in range(4):
            try:
                text = piece[: len(piece) - cut].decode()
                break
            except UnicodeDecodeError:
                continue
        else:
            raise FeedBroken("The feed is not UTF-8.")
        self._rest = piece[len(piece) - cut :] if cut else b""
        if not text:
            return False
        self._text, self._place = self._text[self._place :] + text, 0
        return True
