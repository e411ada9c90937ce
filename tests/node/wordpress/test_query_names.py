"""Traces name database queries without the values that visitors have sent."""

import json
import subprocess
from pathlib import Path

import pytest

import stead.node.wordpress

TRACES = Path(stead.node.wordpress.__file__).parent / "php" / "platform" / "traces.php"
PROGRAM = """
require $argv[1];
$method = new ReflectionMethod('Stead\\Traces', 'without_values');
$method->setAccessible(true);
echo json_encode($method->invoke(null, json_decode(stream_get_contents(STDIN))));
"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select * from wp_2_posts where id = 7 and x in (1, 'a', 2.5)", None),
        ("select 1 /* don't */ from u where email='bob@example.com'", "select ? from u where email=?"),
        ("select a -- it's\nfrom u where b = 'bob'", "select a from u where b = ?"),
        ("select a # it's\nfrom u where b = 'bob'", "select a from u where b = ?"),
        ('select a from `it\'s` where b = "bob"', "select a from `it's` where b = ?"),
        ("select '/* no comment', 'bob', '*/'", "select ?, ?, ?"),
        ("select '# no comment', '-- none', 'it\\'s bob', 'it''s bob'", "select ?, ?, ?, ??"),
        ("select 5--'\nbob', 1e5, 0xB0B, x'b0b'", "select ?--?, ?, ?, x?"),
        ("select 'bob", "select ?"),
        ("select 'bob\\", "select ?"),
        ("select `a where b = 'bob'", "select ?"),
        ("select a /* bob", "select a"),
        ("select a /*!40101 it's */, 'bob'", "select a ?"),
    ],
)
def test_no_value_is_in_the_name_of_a_query(query: str, expected: str | None) -> None:
    done = subprocess.run(
        ["php", "-r", PROGRAM, "--", TRACES],  # noqa: S607
        input=json.dumps(query),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    name = json.loads(done.stdout)
    assert "bob" not in name.lower()
    assert name == (expected or "select * from wp_2_posts where id = ? and x in (?, …)")
