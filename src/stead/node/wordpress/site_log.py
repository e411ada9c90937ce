"""Lines of the node itself in the log of a site, beside those of PHP."""

import os
import re
from datetime import UTC, datetime

from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.paths import EnvironmentPaths

MAX_LINE = 1000


async def write_to_log(paths: EnvironmentPaths, text: str) -> None:
    """Append a line. A log that cannot be written to is no failure of what it reports."""
    await run_in_thread(_write, paths, text)


def _write(paths: EnvironmentPaths, text: str) -> None:
    now = datetime.now(UTC).strftime("%d-%b-%Y %H:%M:%S UTC")
    line = re.sub(r"[^ -~]", "?", text)[:MAX_LINE]
    try:
        # Root owns the directory, so the site cannot put a link in its place.
        descriptor = os.open(paths.log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    try:
        os.write(descriptor, f"[{now}] {line}\n".encode())
    except OSError:
        return
    finally:
        os.close(descriptor)
