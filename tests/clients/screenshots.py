"""Pictures of terminals for the documentation, if `STEAD_SCREENSHOTS` names a folder for them:

STEAD_SCREENSHOTS=docs/terminal pytest tests/journeys/test_stead_program.py
"""

import io
import os
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 100
_COMMENTS = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def save_screenshot(command: str, screen: str, name: str, *, address: str) -> None:
    """`address` is that of the installation, which has a name in the picture."""
    folder = os.environ.get("STEAD_SCREENSHOTS")
    if not folder:
        return
    command, screen = (text.replace(address, "https://api.example.com") for text in (command, screen))
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}"))
    console.print(Text.from_ansi(shown(screen)))
    drawn = console.export_svg(title="stead", unique_id=name)
    # The font of the library is loaded from elsewhere.
    drawn = _COMMENTS.sub("", _FONTS.sub("", drawn)).replace("Fira Code", "monospace")
    (Path(folder) / f"{name}.svg").write_text(drawn)


def shown(screen: str) -> str:
    """What is left on the screen: a line that was written again is shown once."""
    lines = [line.rpartition("\r")[2] for line in screen.replace("\r\n", "\n").split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
