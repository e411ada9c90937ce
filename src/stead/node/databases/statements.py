"""What kind of statement a customer has sent.

The rights of the database user decide what it can do. This refuses early, with a clear message, what is not
meant for an operation.
"""

READING = frozenset({"select", "with", "show", "describe", "desc", "explain", "values", "("})
WRITING = frozenset({"insert", "update", "delete", "replace"})


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


def require_writing(statement: str) -> None:
    if first_word(statement) not in WRITING:
        raise NotAllowed("Only INSERT, UPDATE, DELETE and REPLACE are accepted here.")
