"""Lines contain no secret, however the bytes arrive, and have a limited length."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from stead.node.lines import Lines

MASK = "•••"


def lines_of(chunks: list[bytes], secrets: Sequence[str] = (), limit: int = 8192) -> list[str]:
    lines = Lines(secrets, limit)
    return [*(line for chunk in chunks for line in lines.feed(chunk)), *lines.flush()]


def cut(text: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(text) + 1) for place in places} | {len(text)})
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def test_lines_are_complete_and_in_order() -> None:
    assert lines_of([b"a\nb", b"c\r\n", b"\nlast"]) == ["a", "bc", "", "last"]
    assert lines_of([b"ends\n"]) == ["ends"]
    assert lines_of([]) == []


def test_a_line_is_returned_as_soon_as_it_ends() -> None:
    lines = Lines(["secret"])
    assert lines.feed(b"one\ntw") == ["one"]
    assert lines.feed(b"o\n") == ["two"]


def test_a_secret_is_masked_wherever_a_chunk_ends() -> None:
    text = b"key=hunter22 and hunter22hunter22 hunt\n"
    for place in range(len(text) + 1):
        assert lines_of([text[:place], text[place:]], ["hunter22"]) == [
            f"key={MASK} and {MASK}{MASK} hunt"
        ], place
    assert lines_of([bytes([byte]) for byte in text], ["hunter22"]) == [f"key={MASK} and {MASK}{MASK} hunt"]


def test_a_secret_of_several_lines_is_masked() -> None:
    key = "-----BEGIN-----\nabc\ndef\n-----END-----"
    assert lines_of([f"it is {key}!\n".encode()], [key]) == [f"it is {MASK}!"]


def test_a_secret_across_the_end_of_a_cut_line_is_masked() -> None:
    text = b"x" * 30 + b"hunter22" + b"y" * 30
    assert "".join(lines_of([text], ["hunter22"], limit=32)) == "x" * 30 + MASK + "y" * 30


def test_overlapping_secrets_leak_no_part_of_each_other() -> None:
    for chunks in ([b"xabcdef."], [b"xab", b"cdef."], [b"xabc", b"def."]):
        assert "".join(lines_of(chunks, ["xabc", "abcdef"])) == f"{MASK}."
    assert "".join(lines_of([b"abc", b"def"], ["abc", "abcdef"])) == MASK
    assert "".join(lines_of([b"abc", b"x"], ["abc", "abcdef"])) == f"{MASK}x"


def test_a_long_line_is_cut_between_characters() -> None:
    pieces = lines_of(["é".encode() * 100], limit=15)
    assert "".join(pieces) == "é" * 100
    assert max(len(piece.encode()) for piece in pieces) <= 15


def test_invalid_utf8_is_replaced() -> None:
    assert lines_of([b"\xff\xfe\n"]) == ["\ufffd\ufffd"]


def test_memory_is_limited_by_the_longest_line() -> None:
    lines = Lines(["aaaa"], limit=100)
    for _ in range(1000):
        lines.feed(b"a" * 1000)
    assert len(lines._unfinished) <= 100
    assert len(lines._masking._held) <= 4


@given(
    text=st.binary(max_size=200).map(lambda raw: bytes(b"ab\nc"[byte % 4] for byte in raw)),
    secrets=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3),
    places=st.lists(st.integers(0, 1000), max_size=8),
)
def test_lines_do_not_depend_on_chunks_and_contain_no_secret(
    text: bytes, secrets: list[str], places: list[int]
) -> None:
    shown = lines_of(cut(text, places), secrets)
    assert "".join(shown).replace(MASK, "") == "".join(lines_of([text], secrets)).replace(MASK, "")
    for line in shown:
        assert not [secret for secret in secrets for piece in line.split(MASK) if secret in piece]
