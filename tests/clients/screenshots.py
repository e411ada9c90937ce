"""Pictures of terminals for the documentation, if `STEAD_SCREENSHOTS` names a folder for them."""

import io
import os
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 100


def save_screenshot(command: str, screen: str, name: str) -> None:
    folder = os.environ.get("STEAD_SCREENSHOTS")
    if not folder:
        return
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}"))
    console.print(Text.from_ansi(shown(screen)))
    console.save_svg(str(Path(folder) / f"{name}.svg"), title="stead")


def shown(screen: str) -> str:
    """What is left on the screen: a line that was written again is shown once."""
    lines = [line.rpartition("\r")[2] for line in screen.replace("\r\n", "\n").split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
