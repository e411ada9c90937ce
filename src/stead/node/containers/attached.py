"""Starts a program whose streams are descriptors of somebody else, so that its data does not pass through the
agent."""

import subprocess
from collections.abc import Sequence

_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


def start_attached(argv: Sequence[str], descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
    """`descriptors` are stdin, stdout and stderr, or one of a terminal. In a session of its own; the terminal
    then controls it, so that the program learns of a new window size."""
    terminal = len(descriptors) == 1
    stdin, stdout, stderr = [*descriptors] * 3 if terminal else descriptors
    return subprocess.Popen(
        [*(("setsid", "--ctty") if terminal else ()), *argv],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=_ENVIRONMENT,
        cwd="/",
        # setsid makes the session itself, and keeps its process id only if it does not lead a group yet.
        start_new_session=not terminal,
    )
