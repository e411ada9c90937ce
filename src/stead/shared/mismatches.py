"""Says in words why a document does not have the expected shape.

The decoder names types of Python. Its message is read here for the place and the kind of the mistake, and
never shown.
"""

import re

import msgspec

from stead.shared.wording import quote

_EXPECTED = re.compile(r"Expected `(?P<kinds>[^`]+)`(?:, got `[^`]+`)?(?: - at `[^`]*`)?")
_PATH = re.compile(r" - at `\$\.?(?P<path>[^`]*)`\Z")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*?)`(?: - at `[^`]*`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>.*?)`(?: - at `[^`]*`)?", re.DOTALL)
_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


def describe_mismatch(error: msgspec.ValidationError) -> str:
    """A clause without a full stop, such as `output must be text`."""
    text = str(error)
    if found := _UNKNOWN.fullmatch(text):
        return f"there is no setting {quote(found['name'])}"
    if found := _MISSING.fullmatch(text):
        return f"{quote(found['name'])} is missing"
    found = _EXPECTED.fullmatch(text)
    kinds = [_WORDS.get(kind) for kind in found["kinds"].split(" | ")] if found else [None]
    place = _place(text)
    if None in kinds:
        return f"{place or 'a value'} is not as expected"
    return f"{place or 'the document'} must be {' or '.join(map(str, kinds))}"


def _place(text: str) -> str:
    """`$.scripts[...]` is `scripts.*`, and `$.watch[0]` is `watch.0`."""
    found = _PATH.search(text)
    return re.sub(r"\[(\d+)\]", r".\1", found["path"].replace("[...]", ".*")) if found else ""
