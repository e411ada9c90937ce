"""A field that is not sent, in contrast to `None`, which is sent as null."""

from collections.abc import Mapping


class Omit:
    """The type of `OMIT`."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "OMIT"


OMIT = Omit()


def given(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields that are sent."""
    return {name: value for name, value in fields.items() if not isinstance(value, Omit)}
