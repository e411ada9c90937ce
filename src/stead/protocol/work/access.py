"""Work that runs commands of customers, and lets them in."""

from typing import ClassVar, Literal

from stead.protocol.work.base import NodeWork, RuntimeWork, WorkStruct

Shell = Literal["cms-cli", "bash"]


class RunCommand(RuntimeWork, frozen=True, tag="run_command"):
    """A command of the customer has run in the environment, once. If it was interrupted, it is not repeated:
    nobody knows what it has done. A command that fails is refused with `exec.failed`."""

    has_own_limit = True
    secret_fields: ClassVar[tuple[str, ...]] = ("args",)

    shell: Shell
    args: tuple[str, ...]
    restricted: bool = True
    """Whether options and commands of WP-CLI that run code are switched off."""


class AccessKey(WorkStruct, frozen=True):
    """A public key that opens an environment over SSH."""

    id: str
    account: str
    """Who has the private key."""
    fingerprint: str
    """`SHA256:` and the hash of the public key, as OpenSSH shows it."""
    public_key: bytes
    """In the format of the SSH protocol: what OpenSSH writes in base64."""
    may_run_commands: bool = False
    """And open a shell. Without, it only transfers files and reaches the database."""
    expires_at: float | None = None
    """In seconds since 1970."""


class AccessPassword(WorkStruct, frozen=True):
    """A password for file transfers, for programs without keys."""

    secret_fields: ClassVar[tuple[str, ...]] = ("sha256",)

    id: str
    account: str
    """Who has created it."""
    sha256: bytes
    """It was generated and cannot be guessed, so a fast hash is safe."""
    expires_at: float | None = None


class DatabasePassword(WorkStruct, frozen=True):
    """A password for people who connect to the database of an environment."""

    secret_fields: ClassVar[tuple[str, ...]] = ("double_sha1",)

    id: str
    account: str
    """Who has created it."""
    double_sha1: bytes
    """The hash that MariaDB stores. It was generated and cannot be guessed, so a fast hash is safe."""
    expires_at: float | None = None


class SetAccess(NodeWork, frozen=True, tag="set_access"):
    """Exactly these keys and passwords open the environment over SSH, and its database. Of two lists for an
    environment, the one with the higher generation counts."""

    generation: int
    user: str
    """The user name that selects the environment."""
    keys: tuple[AccessKey, ...] = ()
    password: AccessPassword | None = None
    database: DatabasePassword | None = None


class SetPassword(RuntimeWork, frozen=True, tag="set_password"):
    """A user of the environment's WordPress has this password, and none of the sessions from before."""

    secret_fields: ClassVar[tuple[str, ...]] = ("password_hash",)

    user: str
    password_hash: str
    """As WordPress stores it."""
