"""The key by which clients know the gateway. Created once: another key looks like an attack to every
client."""

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import asyncssh

_ALGORITHM = "ssh-ed25519"


def load_host_key(file: Path) -> asyncssh.SSHKey:
    """Creates it if there is none. Of several programs that do so at the same time, one wins."""
    if not file.exists():
        _create(file)
    return asyncssh.read_private_key(file)


def _create(file: Path) -> None:
    made = asyncssh.generate_private_key(_ALGORITHM, comment="").export_private_key()
    unfinished = file.with_name(f".{file.name}-{token_hex(4)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as written:
            written.write(made)
            written.flush()
            os.fsync(descriptor)
        with suppress(FileExistsError):
            os.link(unfinished, file)
    finally:
        unfinished.unlink()
