"""Rows of a chunk are selected by their times, and get their site in front."""

import random

import pytest
import zstandard

from stead.control.insights.chunks import ChunkInvalid, Decision, OpenChunk
from stead.protocol.telemetry import MAX_PLAIN_BYTES, ChunkHead, Part, encode_head

FIRST, LAST = 1_790_000_000.0, 1_790_000_600.0
DECISION = Decision("site_1", 30, FIRST, LAST)
GOOD = [b"1790000000.000\ta\\tb", b"1790000600.000\t", b"1790000300.123\t\t\t"]
BAD = [
    *(b"1789999999.999\ta", b"1790000600.001\ta", b"9999999999.999\t", b"0000000005.000\t", b"-\t", b""),
    *(
        b"1790000300.1234\ta",
        b"1790000300.12\ta",
        b"1790000300,123",
        b"\t1790000300.123\t",
        b"1790000300.123",
    ),
]


def open_chunk(parts: dict[str, list[bytes]]) -> OpenChunk:
    joined = {name: b"".join(row + b"\n" for row in rows) for name, rows in parts.items()}
    head = ChunkHead("logs", tuple(Part(name, len(parts[name]), len(rows)) for name, rows in joined.items()))
    plain = b"\n".join([encode_head(head), b"".join(joined.values())])
    return OpenChunk(zstandard.compress(plain))


@pytest.mark.parametrize("bad", BAD)
def test_a_row_of_another_time_or_without_one_is_left_out(bad: bytes) -> None:
    expected = b"".join(b"site_1\tenv_1\t30\t" + row + b"\n" for row in GOOD)
    for place in range(len(GOOD) + 1):
        rows = [*GOOD[:place], bad, *GOOD[place:]]
        assert open_chunk({"env_1": rows}).label_rows({"env_1": DECISION}) == (expected, len(GOOD))
    assert open_chunk({"env_1": [bad]}).label_rows({"env_1": DECISION}) == (b"", 0)


def test_each_row_gets_the_label_of_its_part_and_parts_without_a_decision_are_dropped() -> None:
    opened = open_chunk({"env_1": GOOD, "env_2": GOOD, "env_3": GOOD[:1]})
    rows, count = opened.label_rows({"env_1": DECISION, "env_3": Decision("site_3", 7, FIRST, LAST)})
    assert count == 4
    assert [row.split(b"\t")[:3] for row in rows.splitlines()] == [
        *[[b"site_1", b"env_1", b"30"]] * 3,
        [b"site_3", b"env_3", b"7"],
    ]


def test_any_selection_of_rows_is_labelled_like_each_of_them() -> None:
    for _ in range(300):
        rows = random.choices(GOOD + BAD, k=random.randint(1, 9))  # noqa: S311
        expected = b"".join(b"site_1\tenv_1\t30\t" + row + b"\n" for row in rows if row in GOOD)
        labelled, count = open_chunk({"env_1": rows}).label_rows({"env_1": DECISION})
        assert (labelled, count) == (expected, sum(row in GOOD for row in rows))


@pytest.mark.parametrize("says_its_size", [True, False])
def test_a_chunk_that_is_too_large_when_it_is_opened_is_not_opened(says_its_size: bool) -> None:
    compressor = zstandard.ZstdCompressor(write_content_size=says_its_size)
    with pytest.raises(ChunkInvalid, match="too large"):
        OpenChunk(compressor.compress(bytes(MAX_PLAIN_BYTES + 1)))


def test_a_chunk_may_be_without_its_size() -> None:
    head = encode_head(ChunkHead("logs", (Part("env_1", 1, len(GOOD[0]) + 1),)))
    plain = b"\n".join([head, GOOD[0] + b"\n"])
    opened = OpenChunk(zstandard.ZstdCompressor(write_content_size=False).compress(plain))
    assert opened.label_rows({"env_1": DECISION})[1] == 1
