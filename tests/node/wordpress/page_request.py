"""Requests a page from PHP-FPM over its socket, as the edge does."""

import asyncio
import struct
from pathlib import Path

from tests.patience import time_limit

_BEGIN, _END, _PARAMS, _STDIN, _STDOUT = 1, 3, 4, 5, 6
_HEADER = struct.Struct(">BBHHBx")


async def request_page(socket: Path, host: str, *, script: str = "/index.php", bound: float = 30.0) -> str:
    """The response, with its headers; empty if there is none."""
    parameters = {
        "REQUEST_METHOD": "GET",
        "REQUEST_URI": "/",
        "QUERY_STRING": "",
        "SCRIPT_NAME": script,
        "SCRIPT_FILENAME": f"/srv/site{script}",
        "DOCUMENT_ROOT": "/srv/site",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_NAME": host,
        "HTTP_HOST": host,
        "HTTPS": "on",
    }
    encoded = b"".join(_pair(name.encode(), value.encode()) for name, value in parameters.items())
    try:
        async with time_limit(bound):
            reader, writer = await asyncio.open_unix_connection(str(socket))
            try:
                writer.write(_record(_BEGIN, struct.pack(">HB5x", 1, 0)))
                writer.write(_record(_PARAMS, encoded) + _record(_PARAMS) + _record(_STDIN))
                return (await _read_response(reader)).decode(errors="replace")
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return ""


async def _read_response(reader: asyncio.StreamReader) -> bytes:
    output = b""
    while True:
        _, kind, _, length, padding = _HEADER.unpack(await reader.readexactly(_HEADER.size))
        content = await reader.readexactly(length + padding)
        if kind == _STDOUT:
            output += content[:length]
        if kind == _END:
            return output


def _record(kind: int, content: bytes = b"") -> bytes:
    return _HEADER.pack(1, kind, 1, len(content), 0) + content


def _pair(name: bytes, value: bytes) -> bytes:
    return bytes((len(name), len(value))) + name + value
