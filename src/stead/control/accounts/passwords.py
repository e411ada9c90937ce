"""Argon2id password hashes. They are slow by design, so they are computed in threads of their own, and never
while a transaction waits."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

from stead.control.engines.transaction_guard import require_no_transaction
from stead.shared.errors import RateLimitExceeded

T = TypeVar("T")

_hasher = PasswordHasher(memory_cost=64 * 1024, time_cost=3, parallelism=1)
"""The work that RFC 9106 recommends, in one lane. With several, a hash waits twelve times for the slowest of
its threads, which takes seconds on a busy machine."""
_threads = ThreadPoolExecutor(os.cpu_count() or 1, "passwords")
"""Not the default ones: there, hashes would wait for whatever else is slow, such as an object store."""
MOST_AT_ONCE = 32
"""Hashes that are computed or wait for a thread."""
BUSY_SECONDS = 5

_unfinished = 0


async def hash_password(password: str) -> str:
    return await _in_thread(_hasher.hash, password)


async def verify_password(password_hash: str | None, password: str) -> bool:
    """Without an account, verify a dummy hash, so that the duration does not reveal that there is none."""
    return await _in_thread(_verify, password_hash, password)


def _verify(password_hash: str | None, password: str) -> bool:
    try:
        _hasher.verify(password_hash or _dummy_hash(_hasher), password)
    except VerificationError:
        return False
    return password_hash is not None


@cache
def _dummy_hash(hasher: PasswordHasher) -> str:
    return hasher.hash("the password of no account")


async def _in_thread(work: Callable[..., T], *args: str | None) -> T:
    """Raises RateLimitExceeded if too many wait already: guesses from many networks at once."""
    global _unfinished
    require_no_transaction("Argon2")
    if _unfinished >= MOST_AT_ONCE:
        raise RateLimitExceeded(seconds=BUSY_SECONDS)
    _unfinished += 1
    try:
        return await asyncio.get_running_loop().run_in_executor(_threads, work, *args)
    finally:
        _unfinished -= 1
