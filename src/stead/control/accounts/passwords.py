"""Argon2id, off the event loop: it is slow on purpose."""

import asyncio
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

_hasher = PasswordHasher()


@cache
def _hash_of_nobody(hasher: PasswordHasher) -> str:
    return hasher.hash("the password of no account")


async def hash_password(password: str) -> str:
    return await asyncio.to_thread(_hasher.hash, password)


async def is_password(password_hash: str | None, password: str) -> bool:
    """Without an account the same work is done in vain, so that time does not tell whether there is one."""
    try:
        await asyncio.to_thread(_hasher.verify, password_hash or _hash_of_nobody(_hasher), password)
    except VerificationError:
        return False
    return password_hash is not None
