"""Argon2id password hashes. They are slow by design, so they are computed in threads of their own."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

T = TypeVar("T")

_hasher = PasswordHasher(memory_cost=46 * 1024, time_cost=2, parallelism=1)
"""Twice the work that OWASP recommends at least. With several lanes, a hash waits twelve times for the
slowest of its threads: on a busy machine that took seconds, with a database connection in use."""
_threads = ThreadPoolExecutor(os.cpu_count() or 1, "passwords")
"""Not the default ones: there, hashes would wait for whatever else is slow, such as an object store."""


@cache
def _dummy_hash(hasher: PasswordHasher) -> str:
    return hasher.hash("the password of no account")


async def hash_password(password: str) -> str:
    return await _in_thread(_hasher.hash, password)


async def verify_password(password_hash: str | None, password: str) -> bool:
    """Without an account, verify a dummy hash, so that the duration does not reveal that there is none."""
    try:
        await _in_thread(_hasher.verify, password_hash or _dummy_hash(_hasher), password)
    except VerificationError:
        return False
    return password_hash is not None


def needs_rehash(password_hash: str) -> bool:
    """Whether it was made with other parameters: checking it takes longer or shorter than the dummy hash."""
    return _hasher.check_needs_rehash(password_hash)


async def _in_thread(work: Callable[..., T], *args: str) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads, work, *args)
