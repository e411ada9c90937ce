"""Argon2id password hashes. They are slow by design, so they are computed in threads of their own, and never
while a transaction waits."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

from stead.control.engines.transaction_guard import require_no_transaction
from stead.control.http.client_address import wide_network_of
from stead.control.http.principal import Address
from stead.shared.errors import RateLimitExceeded
from stead.shared.ids import AccountId

T = TypeVar("T")

_hasher = PasswordHasher(memory_cost=64 * 1024, time_cost=3, parallelism=1)
"""The work that RFC 9106 recommends, in one lane. With several, a hash waits twelve times for the slowest of
its threads, which takes seconds on a busy machine."""
_threads = ThreadPoolExecutor(min(8, os.cpu_count() or 1), "passwords")
"""Not the default ones: there, hashes would wait for whatever else is slow, such as an object store."""
MOST_AT_ONCE = 32
"""Hashes that are computed or wait for a thread, in one process."""
MOST_OF_STRANGERS = 24
"""The other places are kept for those who are known: guesses from many networks do not keep owners out."""
MOST_OF_ONE_SOURCE = 12
"""More than one network may sign up at once."""
BUSY_SECONDS = 5


@dataclass(frozen=True)
class Source:
    """Who wants a hash: somebody in a wide network, or the owner of an account who is known already."""

    name: str
    is_known: bool = False


OPERATOR = Source("operator", is_known=True)


def stranger(address: Address) -> Source:
    return Source(wide_network_of(address))


def owner(account: AccountId) -> Source:
    return Source(account, is_known=True)


_unfinished = Counter[Source]()


async def hash_password(password: str, source: Source) -> str:
    return await _in_thread(source, _hasher.hash, password)


async def verify_password(password_hash: str | None, password: str, source: Source) -> bool:
    """Without an account, verify a dummy hash, so that the duration does not reveal that there is none."""
    return await _in_thread(source, _verify, password_hash, password)


def _verify(password_hash: str | None, password: str) -> bool:
    try:
        _hasher.verify(password_hash or _dummy_hash(_hasher), password)
    except VerificationError:
        return False
    return password_hash is not None


@cache
def _dummy_hash(hasher: PasswordHasher) -> str:
    return hasher.hash("the password of no account")


async def _in_thread(source: Source, work: Callable[..., T], *args: str | None) -> T:
    """Raises RateLimitExceeded if too many wait already."""
    require_no_transaction("Argon2")
    if not _has_place(source):
        raise RateLimitExceeded(seconds=BUSY_SECONDS)
    _unfinished[source] += 1
    try:
        return await asyncio.get_running_loop().run_in_executor(_threads, work, *args)
    finally:
        _unfinished[source] -= 1
        if not _unfinished[source]:
            del _unfinished[source]


def _has_place(source: Source) -> bool:
    of_strangers = sum(count for each, count in _unfinished.items() if not each.is_known)
    return (
        _unfinished[source] < MOST_OF_ONE_SOURCE
        and _unfinished.total() < MOST_AT_ONCE
        and (source.is_known or of_strangers < MOST_OF_STRANGERS)
    )
