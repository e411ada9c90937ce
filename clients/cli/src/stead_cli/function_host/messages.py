# Generated from `src/stead/node/functions/sandbox/messages.py` by `make generate`.
"""Messages between the host of functions and the processes in its container: a length, then JSON."""

import json
import socket
import struct
from typing import Any

MAX_MESSAGE = 16 << 20
LENGTH = struct.Struct(">I")

Message = dict[str, Any]

encode_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
"""Without spaces and escapes. `json.dumps` would make a new encoder each time."""


class ChannelClosed(Exception):
    """The other side has gone."""


def send(channel: socket.socket, message: Message) -> None:
    # A function can build text that is not valid Unicode.
    content = encode_json(message).encode("utf-8", "replace")
    channel.sendall(LENGTH.pack(len(content)) + content)


def receive(channel: socket.socket) -> Message:
    (length,) = LENGTH.unpack(_receive_bytes(channel, LENGTH.size))
    if length > MAX_MESSAGE:
        raise ChannelClosed
    message: Message = json.loads(_receive_bytes(channel, length))
    return message


def _receive_bytes(channel: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = channel.recv(min(count, 1 << 20))
        if not part:
            raise ChannelClosed
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
