"""Texts of customers reach terminals: names, logs and output of builds must not control them."""

import io
import json

import pytest

from stead_cli.overview import overview
from stead_cli.texts import json_text, output_line, printable, printable_lines
from stead_cli.tree import GROUPS

TITLE = "\x1b]0;owned\x07"
CLIPBOARD = "\x1b]52;c;aGVsbG8=\x07"
CLEAR = "\x1b[2J\x1b[H"
C1 = "\x9b2J"
BIDI = "\u202e"
HOSTILE = [TITLE, CLIPBOARD, CLEAR, C1, BIDI, "\x08\x08", "\x00", "\ud800"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _colored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_controls_the_terminal(text: str):
    shown = (
        printable(f"a{text}b"),
        printable_lines(f"a\n{text}\tb"),
        output_line(f"a{text}b", Terminal()),
        output_line(f"a{text}b", io.StringIO()),
    )
    for each in shown:
        assert each.replace("\n", "").replace("\t", "").isprintable()
        assert each.startswith("a")
        assert each.endswith("b")


@pytest.mark.parametrize("text", HOSTILE)
def test_json_is_the_same_and_harmless(text: str):
    shown = json_text({"name": text})
    assert shown.isprintable()
    assert json.loads(shown) == {"name": text}


def test_a_terminal_shows_the_colors_of_a_build():
    line = "\x1b[31merror\x1b[0m: no such file"
    assert output_line(line, Terminal()) == f"{line}\x1b[0m", "they end with the line"
    assert output_line(line, io.StringIO()) == "error: no such file"


def test_nobody_sees_colors_who_does_not_want_to(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert output_line("\x1b[31merror", Terminal()) == "error"


def test_what_was_written_over_is_left_out():
    assert output_line("10 %\r50 %\r100 %\r", Terminal()) == "100 %"


def test_the_first_page_of_help_cuts_no_name_of_a_command():
    _, _, groups = overview().partition("Every operation of the API:\n")
    lines = groups.partition("\n\n")[0].splitlines()
    assert len(lines) == len(GROUPS)
    for line in lines:
        assert len(line) <= 110
        group, *names = line.replace(",", "").split()
        known = list(GROUPS[group])
        if names != known:
            assert len(line) > 80, "there was room for another name"
            assert names == [*known[: len(names) - 1], "…"]
