"""What kind of statement a customer has sent.

The rights of the database user decide what it can do. This refuses early, with a clear message, what is not
meant for an operation.
"""

import re
from collections.abc import Iterator

READING = frozenset({"select", "with", "show", "describe", "desc", "explain", "values", "("})
WRITING = frozenset({"insert", "update", "delete", "replace"})

_LOCKING = (" for update ", " for share ", " lock in share mode ")
_TOKEN = re.compile(
    r"""
    '(?:[^'\\]|\\(?:.|\Z)|'')*+(?:'|\Z)
    | "(?:[^"\\]|\\(?:.|\Z)|"")*+(?:"|\Z)
    | `(?:[^`]|``)*+(?:`|\Z)
    | \#[^\n]*+
    | --(?=[\s\x00-\x1f]|\Z)[^\n]*+
    | /\*M?!\d*+
    | /\*(?:.*?\*/|.*)
    | (?P<word>[A-Za-z0-9_$\x80-\U0010ffff]++)
    | .
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""Text in quotation marks and comments to their end, and words. What MariaDB executes in comments are words,
too."""


class NotAllowed(Exception):
    """The message says what is."""


def first_word(statement: str) -> str:
    """In lower case. Comments before it are skipped; those that MariaDB executes are not allowed there."""
    rest = statement
    while True:
        rest = rest.lstrip()
        if rest.startswith(("/*!", "/*M!", "/*m!")):
            raise NotAllowed("A statement cannot begin with a comment that MariaDB executes.")
        if rest.startswith("/*"):
            _, found, rest = rest[2:].partition("*/")
            if not found:
                raise NotAllowed("A comment does not end.")
        elif rest.startswith("#") or rest[:3] in ("-- ", "--\t", "--\n"):
            _, _, rest = rest.partition("\n")
        else:
            break
    if rest.startswith("("):
        return "("
    word = ""
    for letter in rest:
        if not (letter.isascii() and letter.isalpha()):
            break
        word += letter
    return word.lower()


def require_reading(statement: str) -> None:
    if first_word(statement) not in READING:
        raise NotAllowed("Only statements that read are accepted: SELECT, WITH, SHOW, DESCRIBE, EXPLAIN.")
    words = f" {' '.join(_list_words(statement))} "
    if any(clause in words for clause in _LOCKING):
        raise NotAllowed(
            "A statement that reads cannot lock rows: leave out FOR UPDATE or LOCK IN SHARE MODE."
        )


def _list_words(statement: str) -> Iterator[str]:
    return (found["word"].lower() for found in _TOKEN.finditer(statement) if found["word"])


def require_writing(statement: str) -> None:
    if first_word(statement) not in WRITING:
        raise NotAllowed("Only INSERT, UPDATE, DELETE and REPLACE are accepted here.")
