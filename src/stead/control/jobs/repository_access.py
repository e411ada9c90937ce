"""Gives a node access to the repository of one site, for one command: signs a token for the repository
gateway and opens the password.

This happens when the command is sent, so that tokens and passwords are never stored.
"""

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from msgspec.structs import replace

from stead.control.engines.object_store import StoreLocation
from stead.control.sealing import Sealer
from stead.protocol.work.kinds import Work
from stead.protocol.work.snapshots import RepositoryAccess, RestoreSnapshot, TakeSnapshot, VerifySnapshot
from stead.shared.repository_tokens import Access, RepositoryToken, repository_url, sign

SPARE_SECONDS = 300
"""How much longer than its job a token is valid."""


def repository_password_context(site: str) -> bytes:
    """The sealing context of the password of a repository."""
    return f"repository of {site}".encode()


@dataclass(frozen=True, slots=True)
class RepositoryGateway:
    """Where nodes reach the repositories, the key that signs their tokens, and where the worker itself
    reaches them."""

    url: str
    key: bytes
    store: StoreLocation

    def grant(self, token: RepositoryToken) -> str:
        return repository_url(self.url, sign(self.key, token))


@dataclass(frozen=True, slots=True)
class CommandAddress:
    """Which command the access is for."""

    site: str
    job: str
    node: str
    seconds: float
    """The time limit of the job."""
    now: datetime


def describe_access(access: Access, max_added_bytes: int, as_of: int = 0) -> str:
    """What a command says instead of a URL until it is sent."""
    return f"{access} {max_added_bytes} {as_of}"


def grant_access(work: Work, gateway: RepositoryGateway, sealer: Sealer, command: CommandAddress) -> Work:
    match work:
        case TakeSnapshot() | VerifySnapshot() | RestoreSnapshot() if work.repository.url:
            return replace(work, repository=_grant(work.repository, gateway, sealer, command))
    return work


def _grant(
    described: RepositoryAccess, gateway: RepositoryGateway, sealer: Sealer, command: CommandAddress
) -> RepositoryAccess:
    access, added, as_of = described.url.split(" ")
    issued = int(command.now.timestamp())
    token = RepositoryToken(
        site=command.site,
        job=command.job,
        access=cast("Access", access),
        max_added_bytes=int(added),
        issued_at=issued,
        expires_at=issued + int(command.seconds) + SPARE_SECONDS,
        node=command.node,
        as_of=int(as_of),
    )
    context = repository_password_context(command.site)
    password = sealer.open(base64.b64decode(described.password), context=context)
    return RepositoryAccess(gateway.grant(token), password.decode())
