"""Which statements are accepted as reading ones. The rights of the user decide in any case."""

import time

import pytest

from stead.node.databases.statements import NotAllowed, require_reading


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM t FOR UPDATE",
        "select * from t for\n update nowait",
        "SELECT * FROM t FOR/**/UPDATE",
        "SELECT * FROM t FOR -- a comment\nUPDATE",
        "SELECT * FROM t FOR # a comment\nUPDATE",
        "SELECT * FROM t /*! FOR UPDATE */",
        "SELECT * FROM t FOR /*!50000 UPDATE*/",
        "SELECT * FROM t /*M!100100 LOCK IN SHARE MODE */",
        "SELECT '/*' FROM t FOR/**/UPDATE",
        "SELECT 'it\\'s' FROM t FOR UPDATE",
        "SELECT 'it''s' FROM t LOCK IN SHARE MODE",
        'SELECT "a\\"" FROM t FOR UPDATE -- "',
        "SELECT `'` FROM t FOR UPDATE -- '",
        "SELECT 1 --1 FROM t\n FOR UPDATE",
        "(SELECT * FROM t FOR UPDATE)",
        "WITH a AS (SELECT 1) SELECT * FROM a LOCK  IN\tSHARE MODE",
        "EXPLAIN SELECT * FROM t FOR SHARE",
    ],
)
def test_a_statement_that_reads_locks_no_rows(statement: str) -> None:
    with pytest.raises(NotAllowed, match="lock"):
        require_reading(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 'for update' FROM t",
        'SELECT "lock in share mode" FROM t',
        "SELECT `for update` FROM t -- for update",
        "SELECT 1 /* for update */ FROM t",
        "SELECT * FROM t USE INDEX FOR ORDER BY (a) WHERE updated > 1",
        "SELECT 'never ends",
        "SELECT 1 /* never ends",
        "SELECT '\\",
    ],
)
def test_words_in_texts_and_comments_do_not_matter(statement: str) -> None:
    require_reading(statement)


def test_a_long_statement_is_read_once() -> None:
    """Twice the length takes about twice the time, whatever does not end in it."""

    def measure(part: str, count: int) -> float:
        began = time.process_time()
        require_reading(f"SELECT {part * count}")
        return time.process_time() - began

    for part in ("/*", "'", '"a', "`", "\\'", "--\n", "#", "/*!", "a ", "'' "):
        short = min(measure(part, 20_000) for _ in range(3))
        long = min(measure(part, 80_000) for _ in range(3))
        assert long < 12 * short + 0.01, part
