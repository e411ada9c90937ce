"""What the rules detect of a corpus of our own, and that they detect nothing in ordinary code."""

from collections import Counter

import pytest

from stead.node.images.image_store import ImageStore
from stead.node.scanning.yara_engine import YaraEngine, compile_rules
from tests.node.scanning.corpus import FAMILIES, make_samples
from tests.seeds import current_seed

LEAST_DETECTED = 0.98
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
    root = ImageStore().find("wordpress").root
    for folder in ORDINARY:
        for file in (path for path in (root / folder).rglob("*") if path.is_file()):
            place = f"wp-content/{file.relative_to(root / folder)}".encode()
            assert engine.scan(file.read_bytes(), place) is None, file


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
