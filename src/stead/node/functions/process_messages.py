"""Reads what processes of functions say. They run code of customers, and may say anything: a message must not
become many times larger in memory, or keep the host busy."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw

from stead.node.functions.sandbox.messages import Message

MOST_HEADERS = 100
SMALL_BYTES = 64 << 10

Argument = str | int | float | bool | None | Annotated[list[tuple[str, str]], Meta(max_length=MOST_HEADERS)]

_parts = msgspec.json.Decoder(dict[str, Raw])
_arguments = msgspec.json.Decoder(dict[str, Argument])
_lines = msgspec.json.Decoder(list[str])


def read_message(content: bytes) -> Message:
    """Raises msgspec.MsgspecError."""
    message: Message = {}
    for name, value in _parts.decode(content).items():
        if name == "arg":
            message[name] = _read_arguments(value)
        elif name == "log":
            message[name] = _lines.decode(value)
        elif len(small := bytes(value)) <= SMALL_BYTES:
            message[name] = msgspec.json.decode(small, type=Any)
    return message


def _read_arguments(value: Raw) -> dict[str, Argument] | None:
    """None if they are not what an operation takes: the function is told so."""
    try:
        return _arguments.decode(value)
    except msgspec.MsgspecError:
        return None
