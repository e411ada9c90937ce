"""Sections of documents that are generated from declarations, between marks."""

from collections.abc import Mapping
from pathlib import Path

_END = "<!-- end -->"


def replace_sections(path: Path, sections: Mapping[str, str]) -> str:
    """The text of a page with new content in some of its generated sections, by their names."""
    text = path.read_text()
    for name, content in sections.items():
        begin = f"<!-- generated: {name} -->\n"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}{content}{_END}{rest.partition(_END)[2]}"
    return text
