# Generated from `src/stead/node/functions/sandbox/guest_kinds.py` by `make generate`.
"""The two kinds of function."""

WEBASSEMBLY = b"\0asm"
COMPONENT = WEBASSEMBLY + b"\x0d\0\x01\0"
"""How a component begins. A core module has version 1."""


def is_component(source: bytes) -> bool:
    return source.startswith(COMPONENT)
