"""Generates the tables of settings in docs/operations.md from the docstrings of the fields."""

import ast
import inspect
import textwrap
from itertools import pairwise

import msgspec

from stead.control.settings import Settings


def settings_table(kind: type[msgspec.Struct] = Settings) -> str:
    descriptions = _read_descriptions(kind)
    rows = [
        f"| `STEAD_{field.name.upper()}` | {_describe_default(field)} | {descriptions[field.name]} |\n"
        for field in msgspec.structs.fields(kind)
    ]
    return "".join(["| variable | default | meaning |\n", "|---|---|---|\n", *rows])


def _describe_default(field: msgspec.structs.FieldInfo) -> str:
    if field.default is msgspec.NODEFAULT:
        return "required"
    if field.default in ("", None):
        return "none"
    if isinstance(field.default, bool):
        return f"`{str(field.default).lower()}`"
    return f"`{field.default:g}`" if isinstance(field.default, float) else f"`{field.default}`"


def _read_descriptions(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Reads the docstrings after the fields from the source, because they do not exist at run time."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    declaration = tree.body[0]
    if not isinstance(declaration, ast.ClassDef):
        raise TypeError(f"{kind.__name__} is not a class")
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(declaration.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
