"""Rate limits for password attempts and sign-ups, per account and per network."""

from hashlib import sha256
from ipaddress import IPv6Address, IPv6Network

from stead.control.accounts.rules import normalize_email
from stead.control.http.operations import PublicCall
from stead.control.http.principal import Address
from stead.control.http.rate_limits import Limiter
from stead.shared.errors import RateLimitExceeded

PASSWORDS_PER_MINUTE_AND_ACCOUNT = 5
PASSWORDS_PER_MINUTE_AND_NETWORK = 30
SIGN_UPS_PER_MINUTE_AND_NETWORK = 10
SIGN_UPS_PER_MINUTE = 600


async def limit_password_attempts(limiter: Limiter, account: str, network: str) -> None:
    """Attempts count even if the account does not exist. Its name is hashed: somebody may have typed a
    password into the wrong field."""
    name = sha256(normalize_email(account).encode()).hexdigest()
    await _spend(
        limiter,
        (f"password:of:{name}", PASSWORDS_PER_MINUTE_AND_ACCOUNT),
        (f"password:from:{network}", PASSWORDS_PER_MINUTE_AND_NETWORK),
    )


def network_of(address: Address) -> str:
    """An IPv4 address, or the /64 network of an IPv6 address: one client usually has a whole /64."""
    return str(IPv6Network((address, 64), strict=False) if isinstance(address, IPv6Address) else address)


async def limit_sign_ups(call: PublicCall) -> None:
    await _spend(
        call.limiter,
        (f"sign-up:from:{network_of(call.address)}", SIGN_UPS_PER_MINUTE_AND_NETWORK),
        ("sign-up:all", SIGN_UPS_PER_MINUTE),
    )


async def _spend(limiter: Limiter, first: tuple[str, int], second: tuple[str, int]) -> None:
    wait = await limiter.spend_anonymous(*first, *second)
    if wait:
        raise RateLimitExceeded(seconds=wait)
