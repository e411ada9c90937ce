"""Names of schemas and users, and how they are written in statements."""

import re

from stead.protocol.database_names import name_people_account, name_schema
from stead.shared.ids import EnvironmentId, has_shape

_PREFIX, _READER = "env", "read"
_DATASET = re.compile(r"[0-9a-z]{1,26}")


def schema_name(environment: EnvironmentId, dataset: str = "") -> str:
    """The schema and the user of an environment are both named like it. Those of another dataset than its
    first one have the name of the dataset at the end. Nothing else becomes a name."""
    if not has_shape(_PREFIX, environment):
        raise ValueError("not the id of an environment")
    return name_schema(environment, check_dataset(dataset) if dataset else "")


def people_account(environment: EnvironmentId) -> str:
    """The user of the people who connect to the database of an environment."""
    if not has_shape(_PREFIX, environment):
        raise ValueError("not the id of an environment")
    return name_people_account(environment)


def reader_account(schema: str) -> str:
    """The user that only reads a schema, for statements that customers send to the API."""
    if not is_schema_name(schema):
        raise ValueError("not the schema of an environment")
    return _READER + schema.removeprefix(_PREFIX)


def is_reader_account(name: str) -> bool:
    return name.startswith(_READER) and is_schema_name(_PREFIX + name.removeprefix(_READER))


def is_people_account(name: str) -> bool:
    environment = EnvironmentId(f"{_PREFIX}_{name.partition('_')[2]}")
    return has_shape(_PREFIX, environment) and name_people_account(environment) == name


def check_dataset(name: str) -> str:
    """The name also becomes part of the names of files."""
    if _DATASET.fullmatch(name) is None:
        raise ValueError("not the name of a dataset")
    return name


def split_schema_name(name: str) -> tuple[EnvironmentId, str] | None:
    """The environment and the dataset; None if it is another schema."""
    prefix, _, rest = name.partition("_")
    own, _, dataset = rest.partition("_")
    environment = EnvironmentId(f"{prefix}_{own}")
    if not has_shape(_PREFIX, environment) or (dataset and _DATASET.fullmatch(dataset) is None):
        return None
    return (environment, dataset) if schema_name(environment, dataset) == name else None


def is_schema_name(name: str) -> bool:
    return split_schema_name(name) is not None


def quote_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def quote_pattern(name: str) -> str:
    """In GRANT and REVOKE the name of a schema is a pattern: `_` would match every character, so that
    `env_a` would also open `envxa`."""
    for character in ("\\", "_", "%"):
        name = name.replace(character, f"\\{character}")
    return quote_name(name)


def quote_account(name: str) -> str:
    return f"{quote_name(name)}@localhost"
