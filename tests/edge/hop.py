"""Signs what an edge says about a visitor, as `stead/hop.lua` does."""

import base64
import hmac
import time


def sign(
    key: bytes, receiver: str, host: str, target: str, visitor: str, *, method: str = "GET", age: int = 0
) -> str:
    """The value of X-Stead-Signature for a visitor who came without TLS, `age` seconds ago."""
    at = str(int(time.time()) - age)
    statement = "\n".join(("1", at, receiver, method, host, target, visitor, "http"))
    return f"{at}-{base64.b64encode(hmac.digest(key, statement.encode(), 'sha256')).decode()}"
