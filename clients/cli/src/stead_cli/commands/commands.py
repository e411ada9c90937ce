"""`stead commands`: what the program can do, for programs and assistants that use it."""

from typing import Any

from stead_cli.overview import INSIDE, WRITTEN
from stead_cli.session import Command, Session
from stead_cli.tree import GROUPS


def _commands(session: Session) -> None:
    found: list[dict[str, Any]] = [
        {"command": f"stead {name}", "summary": text} for name, (_, text) in WRITTEN.items()
    ]
    inside = {(group, name) for group, (_, names) in INSIDE.items() for name in names}
    for group, (_, names) in INSIDE.items():
        found += [{"command": f"stead {group} {name}", "summary": text} for name, (_, text) in names.items()]
    for group, names_ in sorted(GROUPS.items()):
        found += [
            {"command": f"stead {group} {name}", "summary": text}
            for name, text in names_.items()
            if (group, name) not in inside
        ]
    session.show(found, ("command", "summary"))


commands = Command("commands", callback=_commands, help="List every command with its summary.")
