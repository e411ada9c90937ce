"""A FastCGI client: one request to PHP-FPM over its socket."""

import asyncio
import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

MAX_RESPONSE = 256 * 1024
MAX_READ = 4 << 20
RECORDS_AT_ONCE = 256
"""Small records are read from memory; others are served after so many."""
_VERSION, _RESPONDER, _REQUEST = 1, 1, 1
_BEGIN, _END, _PARAMS, _STDIN, _STDOUT = 1, 3, 4, 5, 6
_HEADER_BYTES, _LONG = 8, 1 << 31
_MAX_CONTENT = 65_535


class RequestFailed(Exception):
    """There is no complete response; the text says why."""


def platform_parameters(script: str, path: str, url: str) -> dict[str, str]:
    """The parameters of a request of the node itself: a script of the platform, as if visited at this path of
    the site."""
    host = urlsplit(url).hostname or ""
    return {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": "GET",
        "SCRIPT_FILENAME": script,
        "SCRIPT_NAME": path,
        "REQUEST_URI": path,
        "DOCUMENT_ROOT": "/srv/site",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_NAME": host,
        "SERVER_PORT": "443",
        "HTTPS": "on",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": host,
        "HTTP_USER_AGENT": "stead",
    }


async def request(
    socket: Path, parameters: Mapping[str, str], body: bytes = b"", *, limit: int = MAX_RESPONSE
) -> bytes:
    """The last bytes of the response with its headers, at most `limit`. Cancel it to stop waiting; PHP may go
    on."""
    directory = os.open(socket.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Through the descriptor of the directory: the path of a socket has at most 107 bytes.
        reader, writer = await asyncio.open_unix_connection(f"/proc/self/fd/{directory}/{socket.name}")
    finally:
        os.close(directory)
    try:
        params = b"".join(_pair(name.encode(), value.encode()) for name, value in parameters.items())
        writer.write(_record(_BEGIN, bytes([0, _RESPONDER, 0, 0, 0, 0, 0, 0])))
        writer.write(_record(_PARAMS, params) + _record(_PARAMS, b""))
        for start in range(0, len(body), _MAX_CONTENT):
            writer.write(_record(_STDIN, body[start : start + _MAX_CONTENT]))
        writer.write(_record(_STDIN, b""))
        await writer.drain()
        return await _read(reader, limit)
    except (OSError, EOFError) as error:
        raise RequestFailed(type(error).__name__) from None
    finally:
        writer.close()


async def _read(reader: asyncio.StreamReader, limit: int = MAX_RESPONSE) -> bytes:
    output, read = bytearray(), 0
    for number in itertools.count(1):
        header = await reader.readexactly(_HEADER_BYTES)
        size, padding = int.from_bytes(header[4:6], "big"), header[6]
        content = await reader.readexactly(size)
        await reader.readexactly(padding)
        if header[1] == _END:
            break
        read += _HEADER_BYTES + size + padding
        if read > MAX_READ:
            raise RequestFailed("PHP wrote too much")
        if header[1] == _STDOUT:
            output += content
            # Only the end is of interest.
            if len(output) > 2 * limit:
                del output[:-limit]
        if number % RECORDS_AT_ONCE == 0:
            await asyncio.sleep(0)
    return bytes(output[-limit:])


def _record(kind: int, content: bytes) -> bytes:
    return bytes([_VERSION, kind, 0, _REQUEST, *len(content).to_bytes(2, "big"), 0, 0]) + content


def _pair(name: bytes, value: bytes) -> bytes:
    return _length(name) + _length(value) + name + value


def _length(text: bytes) -> bytes:
    return bytes([len(text)]) if len(text) < 128 else (len(text) + _LONG).to_bytes(4, "big")
