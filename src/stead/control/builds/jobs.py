"""What a build's job carries with it."""

from msgspec import Struct


class BuildWork(Struct, frozen=True):
    build: str
