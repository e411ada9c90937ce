"""Writes values as PHP serializes them."""

from typing import Any


def serialize(value: Any) -> bytes:
    """As PHP does it. A tuple is an object: the name of its class, and its properties."""
    match value:
        case None:
            return b"N;"
        case bool():
            return b"b:%d;" % value
        case int():
            return b"i:%d;" % value
        case float():
            return f"d:{value!r};".encode()
        case bytes():
            return b's:%d:"%b";' % (len(value), value)
        case (str(name), dict(properties)):
            head = b'O:%d:"%b":%d:{' % (len(name), name.encode(), len(properties))
            return head + _pairs(properties) + b"}"
        case dict():
            return b"a:%d:{" % len(value) + _pairs(value) + b"}"
    raise TypeError(value)


def _pairs(values: dict[Any, Any]) -> bytes:
    return b"".join(serialize(key) + serialize(value) for key, value in values.items())
