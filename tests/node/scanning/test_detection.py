"""What the rules detect of a corpus of our own, and that they detect nothing in ordinary code."""

import random
import time
from collections import Counter
from contextlib import suppress

import pytest

from stead.node.images.image_store import ImageStore
from stead.node.scanning.yara_engine import (
    DECODING_SECONDS,
    SECONDS,
    TOO_MANY_SLOW_FILES,
    Finding,
    YaraEngine,
    YaraFailed,
    compile_rules,
)
from tests.node.scanning.corpus import FAMILIES, make_samples
from tests.seeds import current_seed

LEAST_DETECTED = 0.98
SAMPLE = 200
ORDINARY = ("srv/wordpress-core", "srv/wordpress-content")


@pytest.fixture(scope="module")
def engine() -> YaraEngine:
    return YaraEngine(compile_rules(None))


def test_at_least_98_of_100_malicious_samples_are_detected(engine: YaraEngine) -> None:
    samples = make_samples(current_seed())
    assert len(samples) >= 300
    assert len(FAMILIES) >= 25
    missed = [each for each in samples if engine.scan(each.content, each.path.encode()) is None]
    listed = "\n".join(f"{each.family}: {each.content[:160]!r}" for each in missed)
    print(f"{len(samples)} samples, {len(missed)} missed: {dict(Counter(each.family for each in missed))}")  # noqa: T201
    assert len(missed) <= len(samples) * (1 - LEAST_DETECTED), listed


def test_the_files_of_wordpress_are_clean(engine: YaraEngine) -> None:
    """Other ones in each run. `make bench ONLY=scan_files_per_minute` scans all of them, and others."""
    root = ImageStore().find("wordpress").root
    files = sorted(path for folder in ORDINARY for path in (root / folder).rglob("*") if path.is_file())
    for file in random.Random(current_seed()).sample(files, SAMPLE):  # noqa: S311 - not for secrets
        place = f"wp-content/{file.relative_to(root)}".encode()
        assert engine.scan(file.read_bytes(), place) is None, file


BOMBS = {
    "comments": b"<?php base64_decode " + b"/*" * 120_000 + b" eval(",
    "spaces": b"<?php base64_decode(" + b" " * 240_000 + b"eval(",
    "items": b"<?php eval(implode(array(" + b"'a'    " * 30_000 + b";base64_decode",
    "codes": b"<script>eval(String.fromCharCode(" + b"1" * 200_000 + b"x;atob('",
    "quotes": b"<?php base64_decode eval " + b"'a' ^ " * 30_000,
    "escapes": b'<?php eval "' + b"\\x65" * 60_000 + b'";',
    "calls": b"<?php " + b"eval(base64_decode(" * 12_000,
}
"""Text that would keep a backtracking expression busy for days."""


@pytest.mark.parametrize("name", BOMBS)
def test_the_time_for_a_file_is_bounded(engine: YaraEngine, name: str) -> None:
    began = time.process_time()
    with suppress(YaraFailed):
        engine.scan(BOMBS[name], b"wp-content/plugins/a/a.php")
    spent = time.process_time() - began
    # Of the file and its two ends: three sets of rules in two views, and decoding.
    assert spent < 3 * (6 * SECONDS + DECODING_SECONDS), spent


def test_padding_that_takes_too_long_does_not_hide_a_shell(
    engine: YaraEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the rules had needed too long for the whole file."""
    shell = b"<?php @eval($_POST['c']); ?>" + b"eval(" * 200_000
    scan = YaraEngine._scan

    def scan_pieces(self: YaraEngine, data: bytes, path: bytes) -> Finding | None:
        if len(data) == len(shell):
            raise YaraFailed("it takes too long")
        return scan(self, data, path)

    monkeypatch.setattr(YaraEngine, "_scan", scan_pieces)
    found = engine.scan(shell, b"wp-content/plugins/a/a.php")
    assert found is not None


def test_a_site_with_many_files_that_take_long_is_scanned_at_their_ends(engine: YaraEngine) -> None:
    busy = YaraEngine(compile_rules(None))
    busy._slow_files = TOO_MANY_SLOW_FILES
    shell, padding = b"<?php @eval($_POST['c']); ?>", b"// text\n" * 40_000
    for code in (shell + padding, b"<?php " + padding + shell, shell):
        assert busy.scan(code, b"wp-content/plugins/a/a.php") is not None
    with pytest.raises(YaraFailed, match="too many"):
        busy.scan(b"<?php " + padding, b"wp-content/plugins/a/a.php")
    assert engine.scan(b"<?php " + padding, b"wp-content/plugins/a/a.php") is None


def test_ordinary_code_among_the_uploads_and_in_plugins_is_clean(engine: YaraEngine) -> None:
    for path, content in {
        "wp-content/uploads/index.php": b"<?php\n// Silence is golden.\n",
        "wp-content/uploads/cache/data.php": b"<?php return array('a' => 1);",
        "wp-content/plugins/a/a.php": b"<?php $x = base64_decode($data); echo esc_html($_GET['tab']);",
        "wp-content/plugins/a/b.php": b"<?php $ids = array_map('intval', $_POST['ids']); system_check($_GET['a']);",  # noqa: E501
        "wp-content/plugins/a/c.js": b"document.write(unescape('%3Cscript src=\"' + host + '\"%3E'));",
        "wp-content/plugins/a/d.php": b"<?php file_put_contents('cache.php', '<?php return ' . var_export($a, true));",  # noqa: E501
    }.items():
        assert engine.scan(content, path.encode()) is None, path
