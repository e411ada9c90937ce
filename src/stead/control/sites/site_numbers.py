"""The numbers by which a site knows its posts and users. In the API they are text, like all identifiers."""

from stead.shared.errors import FieldInvalid, NotFound

_LONGEST = 18


def find_number(text: str, missing: type[NotFound]) -> int:
    """The number in a path. Raises `missing` if it is none."""
    number = parse_number(text)
    if number is None:
        raise missing
    return number


def require_number(text: str, param: str) -> int:
    """The number in a field."""
    number = parse_number(text)
    if number is None:
        raise FieldInvalid(param=param, reason=f"`{param}` must be a number: an id of this site.")
    return number


def parse_number(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST and not text.startswith("0")
    return int(text) if is_number else None
