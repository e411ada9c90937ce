"""YARA: compiles the rules, and says what they find in the content of a file.

Our rules are in `rules`; operators add their own. A file is infected when the scores of the rules that match
add up to 100. Only this module uses YARA.
"""

import hashlib
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yara_x

from stead.node.scanning.decoding import decode_view

RULES = Path(__file__).parent / "rules"
INFECTED = 100
SECONDS = 20
"""For one file."""
_SETS = {"php": ("hiding.yar", "php.yar"), "script": ("hiding.yar", "javascript.yar"), "any": ("server.yar",)}
_GLOBALS: dict[str, bool | str] = {"uploads": False, "view": False, "extension": ""}
_HIDDEN = "hidden_code"
_SCRIPT_EXTENSIONS = frozenset(
    {"js", "mjs", "cjs", "html", "htm", "svg", "php", "phtml", "inc", "vue", "jsx", "tpl"}
)
_PLAIN = re.compile(rb"<\?|<script", re.IGNORECASE)
_UPLOADS = b"wp-content/uploads/"


class Finding(NamedTuple):
    signature: str
    score: int
    line: int
    """Where the first match is; 0 if it is only in the decoded view."""


class RulesInvalid(Exception):
    """The message names the file and what is wrong."""


def list_rules(operator: Path | None) -> list[Path]:
    """All files of rules: ours, and those of the operator."""
    own = sorted(RULES.glob("*.yar"))
    return own + (sorted(operator.glob("*.yar")) if operator is not None and operator.is_dir() else [])


def digest_rules(files: Sequence[Path]) -> str:
    """The version of the rules."""
    made = hashlib.sha256(yara_x.__file__.encode() if not files else b"")
    for file in files:
        made.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return made.hexdigest()[:16]


def compile_rules(operator: Path | None) -> dict[str, bytes]:
    """The rules in the form that the scanner loads. This takes seconds. Raises RulesInvalid."""
    compiled = {name: _compile([RULES / file for file in files]) for name, files in _SETS.items()}
    own = [file for file in list_rules(operator) if file.parent != RULES]
    if own:
        compiled["operator"] = _compile(own)
    return compiled


def _compile(files: Sequence[Path]) -> bytes:
    compiler = yara_x.Compiler()
    for name, value in _GLOBALS.items():
        compiler.define_global(name, value)
    for file in files:
        try:
            compiler.add_source(file.read_text(), origin=file.name)
        except (yara_x.CompileError, UnicodeDecodeError) as error:
            raise RulesInvalid(f"{file.name}: {str(error)[:500]}") from None
    blob = io.BytesIO()
    compiler.build().serialize_into(blob)
    return blob.getvalue()


class YaraEngine:
    def __init__(self, compiled: dict[str, bytes]) -> None:
        self._scanners = {
            name: yara_x.Scanner(yara_x.Rules.deserialize_from(io.BytesIO(blob)))
            for name, blob in compiled.items()
        }
        for scanner in self._scanners.values():
            scanner.set_timeout(SECONDS)

    def scan(self, data: bytes, path: bytes) -> Finding | None:
        """The rule that counts most, if the file is infected. Raises YaraFailed."""
        name = path.rpartition(b"/")[2]
        extension = name.rpartition(b".")[2].lower().decode("latin-1") if b"." in name else ""
        places: dict[str, bool | str] = {"uploads": path.startswith(_UPLOADS), "extension": extension}
        sets = self._choose(data, extension)
        found = self._match(sets, data, {**places, "view": False})
        if found.pop(_HIDDEN, None) is not None and (view := decode_view(data)) is not None:
            more = self._match(sets, view, {**places, "view": True})
            more.pop(_HIDDEN, None)
            for signature, (score, _) in more.items():
                found.setdefault(signature, (score, -1))
        if sum(score for score, _ in found.values()) < INFECTED:
            return None
        signature, (score, offset) = max(found.items(), key=lambda each: (each[1][0], each[0]))
        return Finding(signature, score, data.count(b"\n", 0, offset) + 1 if offset >= 0 else 0)

    def _choose(self, data: bytes, extension: str) -> list[str]:
        chosen = [name for name in ("any", "operator") if name in self._scanners]
        marked = _PLAIN.search(data)
        if b"<?" in data:
            chosen.append("php")
        if extension in _SCRIPT_EXTENSIONS or marked:
            chosen.append("script")
        return chosen

    def _match(
        self, sets: Sequence[str], data: bytes, places: dict[str, bool | str]
    ) -> dict[str, tuple[int, int]]:
        """The scores of the rules that match, and where."""
        found: dict[str, tuple[int, int]] = {}
        for name in sets:
            scanner = self._scanners[name]
            for variable, value in places.items():
                scanner.set_global(variable, value)
            try:
                matching = scanner.scan(data).matching_rules
            except (yara_x.ScanError, yara_x.TimeoutError) as error:
                raise YaraFailed(f"YARA could not scan the file ({type(error).__name__})") from None
            for rule in matching:
                offsets = [match.offset for pattern in rule.patterns for match in pattern.matches]
                score = dict(rule.metadata).get("score", INFECTED)
                found[rule.identifier] = (
                    score if isinstance(score, int) else INFECTED,
                    min(offsets, default=0),
                )
        return found


class YaraFailed(Exception):
    """The message says why."""
