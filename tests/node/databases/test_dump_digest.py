"""Rows of a dump are counted, and their checksums do not depend on pieces or order."""

import hashlib
import random

import pytest

from stead.node.databases.dump_digest import DumpDigest

DUMP = (
    b"-- MariaDB dump\nCREATE TABLE `a` (\n  `x` int(11)\n);\n"
    b"INSERT INTO `a` VALUES\n(1,'one\\n(2)'),\n(2,'two'),\n(3,';');\n"
    b"INSERT INTO `a` VALUES\n(4,'" + b"long" * 500 + b"');\n"
    b"/*!40000 ALTER TABLE `a` ENABLE KEYS */;\n"
    b"DELIMITER ;;\n/*!50003 CREATE*/ /*!50003 TRIGGER t BEFORE INSERT ON a FOR EACH ROW\n"
    b"INSERT INTO `b` VALUES\n(5,'not a row');\n*/;;\nDELIMITER ;\n"
    b"INSERT INTO `wei``rd` VALUES\n(1);\n"
    b"CREATE TABLE `empty` (\n  `x` int\n);\n-- Dump completed\n"
)


def _digest(dump: bytes, *cuts: int) -> DumpDigest:
    made = DumpDigest()
    for begin, end in zip((0, *cuts), (*cuts, len(dump)), strict=True):
        made.feed(dump[begin:end])
    return made


def _facts(made: DumpDigest) -> dict[str, tuple[int, str]]:
    return {name: (table.rows, table.checksum) for name, table in made.tables.items()}


def test_rows_are_counted_and_those_in_the_body_of_a_trigger_are_none() -> None:
    made = _digest(DUMP)
    assert {name: rows for name, (rows, _) in _facts(made).items()} == {"a": 4, "wei`rd": 1, "empty": 0}
    assert (made.rows, made.bytes) == (5, len(DUMP))
    assert made.digest == f"sha256:{hashlib.sha256(DUMP).hexdigest()}"


@pytest.mark.parametrize("count", [1, 2, 7, 200, len(DUMP) - 1])
def test_it_does_not_matter_in_which_pieces_a_dump_comes(count: int) -> None:
    cuts = sorted(random.Random(count).sample(range(1, len(DUMP)), count))  # noqa: S311
    assert _facts(_digest(DUMP, *cuts)) == _facts(_digest(DUMP))


def test_the_order_of_rows_and_the_statements_that_they_are_in_do_not_matter() -> None:
    one = b"INSERT INTO `a` VALUES\n(1),\n(2),\n(3);\n"
    other = b"INSERT INTO `a` VALUES\n(3);\nINSERT INTO `a` VALUES\n(2),\n(1);\n"
    assert _facts(_digest(one)) == _facts(_digest(other))


def test_another_value_is_another_checksum() -> None:
    one, other = b"INSERT INTO `a` VALUES\n(1),\n(2);\n", b"INSERT INTO `a` VALUES\n(1),\n(3);\n"
    twice = b"INSERT INTO `a` VALUES\n(1),\n(1);\n"
    assert len({str(_facts(_digest(dump))) for dump in (one, other, twice)}) == 3
