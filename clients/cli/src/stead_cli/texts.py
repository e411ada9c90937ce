"""What is written to terminals. Texts from elsewhere must not control them: names, logs and output of builds
are customers'."""

import json
import os
import re
import sys
from typing import Any, TextIO

_COLOR = re.compile(r"\x1b\[[0-9;]{0,32}m")
_HIDDEN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What JSON may contain as it is, and a terminal may obey, or show in another order."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    """One line without anything that a terminal obeys."""
    return text if text.isprintable() else "".join(_shown(each) for each in text)


def printable_lines(text: str) -> str:
    """The same for several lines, with tabs."""
    return "".join(each if each in "\n\t" else _shown(each) for each in text)


def output_line(line: str, stream: TextIO) -> str:
    """A line that a program has written. Colors stay, and what the program has written over is left out."""
    written = line.rstrip("\r").rpartition("\r")[2]
    if os.environ.get("NO_COLOR") or not stream.isatty():
        return printable_lines(_COLOR.sub("", written))
    parts, at = [], 0
    for found in _COLOR.finditer(written):
        parts += [printable_lines(written[at : found.start()]), found[0]]
        at = found.end()
    parts.append(printable_lines(written[at:]))
    return "".join(parts) + ("\x1b[0m" if at else "")


def json_text(value: Any, *, indent: int | None = None) -> str:
    return escape_json(json.dumps(value, ensure_ascii=False, indent=indent))


def escape_json(text: str) -> str:
    """The same JSON, which a terminal shows as it is."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_result(text: str) -> None:
    """To stdout: as it is for a program, and without what controls a terminal for a person."""
    shown = printable_lines(text) if sys.stdout.isatty() else text
    sys.stdout.write(shown.encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


def write_notice(text: str) -> None:
    """To stderr."""
    write_error(printable_lines(text) + "\n")


def write_error(text: str) -> None:
    """To stderr, as it is. Nobody has to read it: what the program does goes on without a reader."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _shown(character: str) -> str:
    return character if character.isprintable() else _REPLACEMENT
