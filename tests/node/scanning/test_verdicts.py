"""Replies of clamd are read strictly: everything unusual is an error, and never an infection."""

import pytest

from stead.node.scanning.verdicts import read_clamd_reply


def test_the_documented_replies_are_understood() -> None:
    assert read_clamd_reply(b"1: fd[10]: OK") == (1, "clean", "")
    assert read_clamd_reply(b"27: fd[11]: Stead.Test.Eicar.UNOFFICIAL FOUND") == (
        27,
        "infected",
        "Stead.Test.Eicar",
    )


@pytest.mark.parametrize(
    "reply",
    [
        b"1: fd[10]: Can't open file ERROR",
        b"1: fd[10]: Heuristics.Limits.Exceeded.MaxFiles FOUND",
        b"1: fd[10]:  FOUND",
        b"1: fd[10]: FOUND",
        b"1: fd[10]: a name with spaces FOUND",
        b"1: fd[10]: OK OK",
        b"1: fd[10]: something",
        b"1: fd[10]: INSTREAM size limit exceeded. ERROR",
    ],
)
def test_everything_else_is_an_error(reply: bytes) -> None:
    assert read_clamd_reply(reply)[1] == "error"


@pytest.mark.parametrize(
    "reply", [b"", b"OK", b"UNKNOWN COMMAND", b"1", b"x: fd[1]: OK", b"-1: fd[1]: X FOUND"]
)
def test_what_is_no_reply_ends_the_session(reply: bytes) -> None:
    with pytest.raises(ValueError, match="reply"):
        read_clamd_reply(reply)
