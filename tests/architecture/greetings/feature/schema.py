"""The JSON shapes of greetings."""

from typing import Annotated

from msgspec import Meta, Struct


class NewGreeting(Struct, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=100, examples=["Hello"])]
