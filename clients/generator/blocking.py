"""Makes the blocking client from the asyncio client."""

import re

_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\basync (def|with|for)\b", r"\1"),
        (r"\bawait ", ""),
        (r"\bAwaitable\[([^\[\]]*(?:\[[^\[\]]*(?:\[[^\[\]]*\])?[^\[\]]*\])?[^\[\]]*)\]", r"\1"),
        (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
        (r"\bStopAsyncIteration\b", "StopIteration"),
        (r"\b(_?)Async([A-Z])", r"\1\2"),
        (r"\b_io_async\b", "_io_sync"),
        (r"\b_async\b", "_sync"),
        (r"\bAwaitable, ", ""),
        (r", Awaitable\b", ""),
    )
]
_HEADER = "# Generated from `{source}` by `make generate`.\n"


def blocking(text: str, source: str) -> str:
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return _HEADER.format(source=source) + text
