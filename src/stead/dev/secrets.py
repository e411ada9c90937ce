"""The random secrets of one stack: generated once, and kept in a file that only its owner can read."""

import base64
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stead.dev.files import file_lock, read_json, write_json

Generator = Callable[[], str]
Content = dict[str, str | dict[str, str] | None]

_ACCOUNT = "account"


def random_password() -> str:
    return secrets.token_urlsafe(24)


def random_access_key() -> str:
    return secrets.token_hex(10).upper()


def random_key() -> str:
    """32 random bytes in base64."""
    return base64.b64encode(os.urandom(32)).decode()


class FirstAccount(msgspec.Struct, frozen=True):
    """The output of `steadctl accounts create --with-key` for the first account."""

    account_id: str
    email: str
    password: str
    api_key: str


class Secrets:
    """`secrets.json`: secrets by name, passwords by engine and user, and the first account."""

    def __init__(self, content: Content) -> None:
        self._named = {name: value for name, value in content.items() if isinstance(value, str)}
        self._passwords = {
            name: value for name, value in content.items() if isinstance(value, dict) and name != _ACCOUNT
        }
        account = content.get(_ACCOUNT)
        self.account = msgspec.convert(account, FirstAccount) if account else None

    def __getitem__(self, name: str) -> str:
        return self._named[name]

    def ensure(self, name: str, generate: Generator) -> None:
        if name not in self._named:
            self._named[name] = generate()

    def passwords(self, engine: str) -> dict[str, str]:
        """The passwords of an engine that has many users, by user name."""
        return self._passwords.setdefault(engine, {})

    def ensure_password(self, engine: str, user: str) -> None:
        self.passwords(engine).setdefault(user, random_password())

    def content(self) -> Content:
        account = None if self.account is None else msgspec.to_builtins(self.account)
        return {**self._named, **self._passwords, _ACCOUNT: account}


def load(path: Path) -> Secrets:
    return Secrets(read_json(path, Content) or {})


@contextmanager
def edit(path: Path) -> Iterator[Secrets]:
    """Loads the file and saves it at the end of the block. Other editors wait meanwhile."""
    with file_lock(path.with_name(path.name + ".lock")):
        secrets_ = load(path)
        yield secrets_
        write_json(path, secrets_.content())
