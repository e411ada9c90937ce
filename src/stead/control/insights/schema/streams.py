"""Events that every stream can have, besides its rows."""

from typing import Annotated

from msgspec import Meta, Struct


class StreamTruncated(Struct):
    """More arrived at once than a stream shows."""

    shown: Annotated[int, Meta(description="So many were shown; the others are left out.", examples=[500])]


class StreamError(Struct):
    """A look for what is new has failed. The stream goes on where it was."""

    code: Annotated[str, Meta(examples=["insights.unavailable"])]
    message: Annotated[str, Meta(examples=["Insights cannot be read at the moment."])]
