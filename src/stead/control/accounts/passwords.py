"""Argon2id password hashes. They are slow by design, so they are computed in a thread."""

import asyncio
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

_hasher = PasswordHasher()


@cache
def _dummy_hash(hasher: PasswordHasher) -> str:
    return hasher.hash("the password of no account")


async def hash_password(password: str) -> str:
    return await asyncio.to_thread(_hasher.hash, password)


async def verify_password(password_hash: str | None, password: str) -> bool:
    """Without an account, verify a dummy hash, so that the duration does not reveal that there is none."""
    try:
        await asyncio.to_thread(_hasher.verify, password_hash or _dummy_hash(_hasher), password)
    except VerificationError:
        return False
    return password_hash is not None
