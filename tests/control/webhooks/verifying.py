"""Verifying a delivery the way the documentation tells customers to."""

import re
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parents[3] / "docs" / "webhooks.md"


def block(language: str) -> str:
    """The first code block of this language in the documentation."""
    found = re.search(rf"```{language}\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert found, f"docs/webhooks.md has no {language}"
    return found[1]


def documented() -> ModuleType:
    module = ModuleType("documented")
    exec(compile(block("python"), "docs/webhooks.md", "exec"), module.__dict__)  # noqa: S102 - it is ours
    return module
