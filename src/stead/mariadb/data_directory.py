"""Creates the data of a new server, and what it needs beside it. Can be repeated."""

import os
import shutil
import subprocess
from pathlib import Path

from stead.mariadb.server_settings import ServerSettings, system_user

INSTALLER = "mariadb-install-db"
_TIMEOUT_SECONDS = 300.0
_LONGEST_SOCKET_PATH = 107
"""In bytes, by the kernel."""


class ServerUnavailable(Exception):
    """The server cannot be started or does not answer; the message says why."""


def prepare(settings: ServerSettings) -> None:
    """Blocks for some seconds the first time."""
    home = settings.home
    if len(os.fsencode(settings.socket)) > _LONGEST_SOCKET_PATH:
        raise ServerUnavailable(f"{settings.socket} is too long for a socket: choose a shorter directory")
    home.mkdir(parents=True, exist_ok=True)
    # Containers pass through to the socket; everything else below is closed to them.
    home.chmod(0o711)
    for path, mode in ((settings.run, 0o711), (home / "tmp", 0o700)):
        path.mkdir(exist_ok=True)
        path.chmod(mode)
        _give(path, settings)
    (home / "empty").mkdir(mode=0o555, exist_ok=True)
    _give(home, settings)
    if not settings.data.exists():
        _create(settings)


def _create(settings: ServerSettings) -> None:
    # Renamed when it is complete, so that an interrupted start does not leave an incomplete server.
    incomplete = settings.home / "data.new"
    shutil.rmtree(incomplete, ignore_errors=True)
    done = subprocess.run(
        [
            *(INSTALLER, "--no-defaults", f"--datadir={incomplete}"),
            *([f"--user={settings.user}"] if settings.user else []),
            *("--auth-root-authentication-method=socket", f"--auth-root-socket-user={system_user()}"),
            *("--skip-test-db", "--skip-name-resolve"),
        ],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        # A starting server deletes the temporary tables in its directory, also those of another server.
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "LC_ALL": "C.UTF-8",
            "TMPDIR": str(settings.home / "tmp"),
        },
    )
    if done.returncode != 0:
        raise ServerUnavailable(f"{INSTALLER} failed: {(done.stderr or done.stdout).strip()[-1000:]}")
    incomplete.chmod(0o700)
    incomplete.rename(settings.data)


def _give(path: Path, settings: ServerSettings) -> None:
    if settings.user:
        shutil.chown(path, settings.user, settings.user)
