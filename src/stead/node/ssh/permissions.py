"""What a credential may start. One that may not run commands transfers files, and reaches the database if it
is a key."""

import shlex

import msgspec

from stead.node.access.table import Admission
from stead.node.ssh.messages import Start

SFTP_COMMANDS = frozenset(
    ("internal-sftp", "/usr/lib/openssh/sftp-server", "/usr/lib/sftp-server", "sftp-server")
)
_SCP_FLAGS = frozenset(("-r", "-p", "-d", "-v", "-q", "-pr", "-rp", "--"))
_FILES_ONLY = "your access is for file transfers only"


class SessionRefused(Exception):
    """The message is for the person who wants to use the site."""


def permit(admission: Admission, start: Start) -> Start:
    """What is started for this credential. Raises SessionRefused."""
    if start.kind == "command" and start.command in SFTP_COMMANDS:
        return msgspec.structs.replace(start, kind="sftp", command="")
    if start.kind == "database" and admission.is_password:
        raise SessionRefused("the database can only be reached with an SSH key")
    if admission.may_run_commands or start.kind in ("sftp", "database"):
        return start
    if start.kind != "command" or start.terminal:
        raise SessionRefused(_FILES_ONLY)
    transfer_argv(start.command)
    return msgspec.structs.replace(start, kind="transfer")


def transfer_argv(command: str) -> tuple[str, ...]:
    """The server's side of `scp` or `rsync`, as their clients request it. Raises SessionRefused for
    everything else."""
    try:
        words = shlex.split(command)
    except ValueError:
        raise SessionRefused(_FILES_ONLY) from None
    if words[:1] == ["scp"] and _is_scp(words[1:]):
        return ("/usr/bin/scp", *words[1:])
    if words[:2] == ["rsync", "--server"] and "--daemon" not in words:
        return ("/usr/bin/rsync", *words[1:])
    raise SessionRefused(_FILES_ONLY)


def _is_scp(words: list[str]) -> bool:
    """Options, one of which is -t or -f, and one path."""
    options, path = words[:-1], words[-1:]
    directions = [word for word in options if word in ("-t", "-f")]
    others = [word for word in options if word not in ("-t", "-f")]
    return len(directions) == 1 and bool(path) and all(word in _SCP_FLAGS for word in others)
