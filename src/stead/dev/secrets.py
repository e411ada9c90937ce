"""Random secrets of one stack, made once and kept in a file only its owner can read."""

import base64
import os
import secrets as randomness
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stead.dev.files import locked, read_json, write_json


def _password() -> str:
    return randomness.token_urlsafe(24)


def _access_key() -> str:
    return randomness.token_hex(10).upper()


def _sealing_key() -> str:
    return base64.b64encode(os.urandom(32)).decode()


class FirstAccount(msgspec.Struct, frozen=True):
    """What `steadctl accounts create --with-key` said when it made the first account."""

    account_id: str
    email: str
    password: str
    api_key: str


class Secrets(msgspec.Struct):
    postgres_superuser: str = msgspec.field(default_factory=_password)
    postgres: str = msgspec.field(default_factory=_password)
    s3_access_key: str = msgspec.field(default_factory=_access_key)
    s3_secret_key: str = msgspec.field(default_factory=_password)
    sealing_key: str = msgspec.field(default_factory=_sealing_key)
    edge_master_key: str = msgspec.field(default_factory=_sealing_key)
    nats: dict[str, str] = msgspec.field(default_factory=dict)
    account: FirstAccount | None = None

    def nats_password(self, user: str) -> str:
        return self.nats.setdefault(user, _password())


def load(path: Path) -> Secrets:
    return read_json(path, Secrets) or Secrets()


@contextmanager
def edited(path: Path) -> Iterator[Secrets]:
    """What the file holds, saved again on leaving; others who would edit it wait."""
    with locked(path.with_name(path.name + ".lock")):
        secrets = load(path)
        yield secrets
        write_json(path, secrets)
