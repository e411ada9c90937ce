"""Generates the tree of commands and what each generated command needs to know."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clients.generator.description import Description, Field, Json, Operation, references

PACKAGE = Path("clients/cli/src/stead_cli")
_HEADER = "# Generated from the API description by `make generate`.\n"
_FIRST = ("id", "name", "domain", "slug", "status", "type", "role", "kind")
_LAST = ("created_at",)
_MOST_COLUMNS = 6


def files(described: Description, root: Path) -> Iterator[tuple[Path, str]]:
    groups: dict[str, dict[str, Operation]] = {}
    for operation in described.operations:
        groups.setdefault(operation.group, {})[operation.command] = operation
    package = root / PACKAGE
    tree = {
        group: {
            name: operation.summary.partition(". ")[0].rstrip(".") + "." for name, operation in found.items()
        }
        for group, found in sorted(groups.items())
    }
    yield (
        package / "tree.py",
        f'{_HEADER}"""Every generated command, with its summary."""\n\n'
        f"GROUPS: dict[str, dict[str, str]] = {tree!r}\n",
    )
    yield root / "docs" / "cli-reference.md", _reference(groups)
    yield package / "operations" / "__init__.py", '"""What the generated commands do, by group."""\n'
    for group, found in groups.items():
        specs = {name: _spec(operation, described) for name, operation in found.items()}
        text = f'{_HEADER}"""The commands `stead {group}`."""\n\nfrom typing import Any\n\n'
        text += f"OPERATIONS: dict[str, dict[str, Any]] = {specs!r}\n"
        yield package / "operations" / f"{group.replace('-', '_')}.py", text


def _reference(groups: dict[str, dict[str, Operation]]) -> str:
    """The page with every generated command."""
    lines = [
        "# Commands of `stead`, one for each operation\n\n",
        "Generated from the API description by `make generate`. [`cli.md`](cli.md) says what all commands"
        " have in common, and\ndescribes those that are written by hand. `--site` and `--env` are left out"
        " here: a linked folder needs neither.\n",
    ]
    for group, found in sorted(groups.items()):
        lines.append(f"\n## stead {group}\n\n| Command | |\n|---|---|\n")
        for name, operation in found.items():
            words = " ".join([group, name, *(each.upper() for each in operation.arguments)])
            summary = operation.summary.replace("|", "\\|")
            asks = {"irreversible": " Asks for the name.", "reversible": " Asks."}.get(
                operation.destructive, ""
            )
            lines.append(f"| `stead {words}` | {summary}{asks} |\n")
    return "".join(lines)


def _spec(operation: Operation, described: Description) -> Json:
    body = described.shapes[operation.body].fields if operation.body else ()
    return {
        "group": operation.group,
        "summary": operation.summary,
        "description": operation.description,
        "method": operation.method,
        "path": operation.path,
        "path_parameters": list(operation.path_parameters),
        "arguments": list(operation.arguments),
        "query": [_field(field, described) for field in operation.query if field.name != "cursor"],
        "body": [_field(field, described) for field in body],
        "body_is_optional": operation.body_is_optional,
        "kind": operation.kind,
        "can_follow": operation.follows is not None,
        "idempotent": operation.idempotent,
        "destructive": operation.destructive,
        "read_with": _read_with(operation, described),
        "columns": _columns(operation, described),
    }


def _field(field: Field, described: Description) -> Json:
    values: list[Any] = []
    for name in references(field.schema):
        values += described.enums.get(name, [])
    return {
        "name": field.name,
        "type": _type(field.schema, described),
        "required": field.required,
        "sensitive": field.is_sensitive,
        "values": values,
        "description": " ".join(field.description.split()),
    }


def _type(schema: Json, described: Description) -> str:
    """`string`, `integer`, `number`, `boolean`, `strings` or `json`."""
    if "anyOf" in schema:
        return next(_type(each, described) for each in schema["anyOf"] if each.get("type") != "null")
    if "$ref" in schema:
        values = described.enums.get(references(schema)[0])
        return "json" if values is None else ("string" if isinstance(values[0], str) else "integer")
    if schema.get("type") == "array":
        return "strings" if _type(schema["items"], described) == "string" else "json"
    return "json" if schema.get("type") == "object" else str(schema["type"])


def _read_with(operation: Operation, described: Description) -> Json | None:
    for read in described.operations:
        if read.id == operation.read_with:
            return {"path": read.path, "names": list(read.path_parameters)}
    return None


def _columns(operation: Operation, described: Description) -> list[str]:
    if operation.kind != "list" or operation.returns is None:
        return []
    scalars = [
        field.name
        for field in described.shapes[operation.returns].fields
        if _type(field.schema, described) != "json" and not field.is_sensitive
    ]
    order = [*(name for name in _FIRST if name in scalars)]
    order += [name for name in scalars if name not in order and name not in _LAST]
    last = [name for name in _LAST if name in scalars]
    return [*order[: _MOST_COLUMNS - len(last)], *last]
