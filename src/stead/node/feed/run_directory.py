"""The directory of the sockets between the node and its nginx. No other user may enter it."""

import grp
import os
from pathlib import Path

EDGE_GROUP = "www-data"
"""The group of nginx's workers."""
ADMIN_SOCKET, STORE_SOCKET = "private/admin.sock", "store.sock"


def prepare_run_directory(data: Path) -> Path:
    """Create the directory, or correct its mode. An agent without root rights leaves an existing one
    unchanged."""
    run = data / "run"
    run.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() == 0 and (group := _edge_group()) is not None:
        os.chown(run, -1, group)
        run.chmod(0o750)
    return run


def share_with_edge(socket: Path) -> None:
    if os.geteuid() == 0 and (group := _edge_group()) is not None:
        os.chown(socket, -1, group)
    socket.chmod(0o660)


def _edge_group() -> int | None:
    try:
        return grp.getgrnam(EDGE_GROUP).gr_gid
    except KeyError:
        return None
