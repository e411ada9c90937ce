"""What a secret is, and its limits. No I/O."""

from dataclasses import dataclass

from stead.shared.build_variables import SHORTEST_SECRET, is_name, is_reserved
from stead.shared.errors import Conflict, FieldInvalid, NotFound
from stead.shared.wording import quote

MAX_SECRETS = 100
MAX_TOTAL_BYTES = 32 * 1024
"""All names and values of an environment together. A build gets them in one message, and looks for each of
them in everything that it prints."""
LINE_COST = 250
"""What each further line of a secret adds to its size: builds look for every line, in several encodings."""
MAX_VALUE = 8 * 1024


@dataclass(frozen=True, slots=True)
class StoredSecret:
    id: str
    name: str
    sealed: bytes
    is_plain: bool


def secret_id(env: str, name: str) -> str:
    return f"{env}/{name}"


def secret_name(id_: str) -> str:
    return id_.rpartition("/")[2]


def require_name(name: str) -> None:
    if not is_name(name):
        raise FieldInvalid(
            param="name",
            reason=f"{quote(name)} cannot be the name of a variable. Use letters, digits and underscores, at"
            " most 128, and no digit at the beginning, for example: API_TOKEN.",
        )
    if is_reserved(name):
        raise FieldInvalid(
            param="name", reason=f"{quote(name)} is set by the platform in every build. Use another name."
        )


def require_value(value: str, *, is_plain: bool) -> None:
    if not is_plain and len(value.strip()) < SHORTEST_SECRET:
        raise FieldInvalid(
            param="value",
            reason=f"A secret has at least {SHORTEST_SECRET} characters, because shorter ones cannot be"
            " masked in the output of builds. Set `plain` if it is not a secret.",
        )


def measure(name: str, value: str, *, is_plain: bool) -> int:
    """How much of `MAX_TOTAL_BYTES` it uses."""
    further_lines = 0 if is_plain else len(value.splitlines()) - 1
    return len(name) + len(value.encode()) + LINE_COST * max(0, further_lines)


class SecretNotFound(NotFound):
    code = "secret.not_found"
    message = "The environment has no secret with this name."
    remedy = "List the names with `GET …/secrets`."


class SecretsExhausted(Conflict):
    code = "secrets.exhausted"
    message = (
        "An environment has at most {count} secrets, whose names and values have at most {size} bytes"
        " together. Each further line of a secret counts as {line} bytes."
    )
    remedy = "Delete secrets that are not used any more, or use values with fewer bytes and lines."
