"""A node asks the control plane whether a sign-in link is valid. Asking spends the link.

Neither message is stored in a stream: an old one is worthless. If one is lost, nobody is signed in.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

Identifier = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,100}\Z")]
TokenHash = Annotated[bytes, Meta(min_length=32, max_length=32)]
Host = Annotated[str, Meta(pattern=r"^[a-z0-9.-]{1,253}\Z")]


class SignInRequest(Struct, frozen=True):
    node: Identifier
    id: Identifier
    """Random. The answer is published under it."""
    environment: Identifier
    """Whose PHP has received the token."""
    host: Host
    """Which it was sent to."""
    token_hash: TokenHash
    """The SHA-256 of the token. The token itself stays on the node."""


class SignIn(Struct, frozen=True):
    """The user of WordPress who is signed in, and the path that follows. No user if the link is not valid."""

    user: str = ""
    redirect_to: str = ""


encode = msgspec.msgpack.encode
read_request = msgspec.msgpack.Decoder(SignInRequest).decode
read_sign_in = msgspec.msgpack.Decoder(SignIn).decode
