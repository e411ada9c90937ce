"""YARA: compiles the rules, and says what they find in the content of a file.

Our rules are in `rules`; operators add their own. A file is infected when the scores of the rules that match
add up to 100. Only this module uses YARA.
"""

import hashlib
import io
import re
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import yara_x

from stead.node.scanning.decoding import decode_view

RULES = Path(__file__).parent / "rules"
INFECTED = 100
SECONDS, SECONDS_WHEN_SLOW = 5, 1
"""For one file and one set of rules. A site with many files that take long gets less: whoever makes them must
not prevent that the others are scanned."""
DECODING_SECONDS = 2.0
"""Of processor time, for one file."""
MANY_SLOW_FILES, TOO_MANY_SLOW_FILES = 10, 100
_PIECE = 128 << 10
_SETS = ("server", "hiding", "php", "places", "letters", "javascript")
"""Each is a file of rules. The files that they are for are in `_choose`."""
_GLOBALS: dict[str, bool | str] = {"uploads": False, "view": False, "extension": ""}
_HIDDEN = "hidden_code"
_SCRIPT_EXTENSIONS = frozenset(
    {"js", "mjs", "cjs", "html", "htm", "svg", "php", "phtml", "inc", "vue", "jsx", "tpl"}
)
_SCRIPT_TAG = re.compile(rb"<script", re.IGNORECASE)
_TAG_IN_BINARY = re.compile(rb"<\?(?:php|=)", re.IGNORECASE)
"""The short form is in every large file by chance."""
_UPLOADS = b"wp-content/uploads/"
_PHP_EXTENSIONS = frozenset({"php", "phtml", "inc", "tpl", "phar", "txt", "html", "htm", "js", ""})
_IMAGES = (b"GIF8", b"\x89PNG", b"\xff\xd8\xff", b"%PDF-")


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
    compiled = {name: _compile([RULES / f"{name}.yar"]) for name in _SETS}
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
        self._slow_files = 0
        self._set_timeout(SECONDS)

    def _set_timeout(self, seconds: int) -> None:
        for scanner in self._scanners.values():
            scanner.set_timeout(seconds)

    def scan(self, data: bytes, path: bytes) -> Finding | None:
        """The rule that counts most, if the file is infected. Raises YaraFailed.

        Of a file that takes too long, the beginning and the end are scanned: padding must not hide the rest.
        After too many of them, nothing else of large files is scanned, so that a scan ends.
        """
        try:
            return self._scan(data, path)
        except YaraFailed:
            for piece in (data[:_PIECE], data[-_PIECE:]) if len(data) > _PIECE else ():
                with suppress(YaraFailed):
                    if found := self._scan(piece, path):
                        return found
            raise

    def _scan(self, data: bytes, path: bytes) -> Finding | None:
        if self._slow_files >= TOO_MANY_SLOW_FILES and len(data) > _PIECE:
            raise YaraFailed("the site has too many files that take long")
        name = path.rpartition(b"/")[2]
        extension = name.rpartition(b".")[2].lower().decode("latin-1") if b"." in name else ""
        uploads = path.startswith(_UPLOADS)
        places: dict[str, bool | str] = {"uploads": uploads, "extension": extension}
        sets = self._choose(data, extension, uploads=uploads)
        found = self._match(sets, data, {**places, "view": False})
        if found.pop(_HIDDEN, None) is not None:
            if "php" in sets:
                found |= self._match(["letters"], data, {**places, "view": False})
            if (view := self._decode(data)) is not None:
                sets = [name for name in sets if name != "hiding"]
                for signature, (score, _) in self._match(sets, view, {**places, "view": True}).items():
                    found.setdefault(signature, (score, -1))
        if sum(score for score, _ in found.values()) < INFECTED:
            return None
        signature, (score, offset) = max(found.items(), key=lambda each: (each[1][0], each[0]))
        return Finding(signature, score, data.count(b"\n", 0, offset) + 1 if offset >= 0 else 0)

    def _choose(self, data: bytes, extension: str, *, uploads: bool) -> list[str]:
        chosen: list[str] = [name for name in ("server", "operator") if name in self._scanners]
        tag = b"<?" in data
        is_binary = b"\0" in data[:8192] and extension not in _SCRIPT_EXTENSIONS
        if tag and (not is_binary or _TAG_IN_BINARY.search(data)):
            chosen.append("php")
            if uploads or extension not in _PHP_EXTENSIONS or data.startswith(_IMAGES):
                chosen.append("places")
        if not is_binary and (tag or extension in _SCRIPT_EXTENSIONS or _SCRIPT_TAG.search(data)):
            chosen.append("javascript")
        return [*chosen, "hiding"] if "php" in chosen or "javascript" in chosen else chosen

    def _decode(self, data: bytes) -> bytes | None:
        with _processor_time(DECODING_SECONDS):
            try:
                return decode_view(data)
            except _TooSlow:
                self._count_slow_file()
        raise YaraFailed("the file takes too long to decode")

    def _count_slow_file(self) -> None:
        self._slow_files += 1
        if self._slow_files == MANY_SLOW_FILES:
            self._set_timeout(SECONDS_WHEN_SLOW)

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
                self._count_slow_file()
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


class _TooSlow(Exception):
    pass


@contextmanager
def _processor_time(seconds: float) -> Iterator[None]:
    """Raise _TooSlow in the block after so much processor time. Regular expressions notice that, too. Signals
    reach only the main thread, so nothing is limited elsewhere."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
