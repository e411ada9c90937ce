"""The verification code that the documentation gives to customers."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parents[3] / "docs" / "webhooks.md"


def code_block(language: str) -> str:
    """Return the first code block in this language."""
    found = re.search(rf"```{language}\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert found, f"docs/webhooks.md has no {language} code"
    return found[1]


def documented_verifier() -> Callable[..., bool]:
    """Return the documented Python function."""
    module = ModuleType("documented")
    code = compile(code_block("python"), "docs/webhooks.md", "exec")
    exec(code, module.__dict__)  # noqa: S102 - the code is part of this repository
    verify: Callable[..., bool] = module.verify
    return verify
