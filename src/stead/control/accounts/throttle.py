"""How often a password may be tried, by whoever tries and for whomever it is tried."""

from hashlib import sha256
from ipaddress import IPv6Address, IPv6Network

from stead.control.accounts.rules import normal_email
from stead.control.http.operations import PublicCall
from stead.control.http.principal import Address
from stead.control.http.rate_limits import Limiter
from stead.shared.errors import RateLimitExceeded

PASSWORDS_A_MINUTE_FOR_ONE_ACCOUNT = 5
PASSWORDS_A_MINUTE_FROM_ONE_PLACE = 30
SIGN_UPS_A_MINUTE_FROM_ONE_ADDRESS = 10
SIGN_UPS_A_MINUTE = 600


async def slow_down_passwords(limiter: Limiter, account: str, place: str) -> None:
    """Counted whether or not the account exists. Its name is hashed: a mistyped one may be a password."""
    name = sha256(normal_email(account).encode()).hexdigest()
    await _spend(
        limiter,
        (f"password:of:{name}", PASSWORDS_A_MINUTE_FOR_ONE_ACCOUNT),
        (f"password:from:{place}", PASSWORDS_A_MINUTE_FROM_ONE_PLACE),
    )


def place(address: Address) -> str:
    """Of an IPv6 address its /64: whoever has one of its addresses has them all."""
    return str(IPv6Network((address, 64), strict=False) if isinstance(address, IPv6Address) else address)


async def slow_down_sign_up(call: PublicCall) -> None:
    await _spend(
        call.limiter,
        (f"sign-up:from:{place(call.address)}", SIGN_UPS_A_MINUTE_FROM_ONE_ADDRESS),
        ("sign-up:all", SIGN_UPS_A_MINUTE),
    )


async def _spend(limiter: Limiter, first: tuple[str, int], second: tuple[str, int]) -> None:
    wait = await limiter.spend_anonymous(*first, *second)
    if wait:
        raise RateLimitExceeded(seconds=wait)
