"""Rate limits for password attempts, sign-ups, password resets and verifications.

Whoever guesses passwords must be slowed down, but must not be able to lock the owner of the account out. So
attempts are counted per network and account together. All networks from which nobody has signed in to the
account share one more bucket, which bounds guessing from many networks at once. Networks that are known for
the account do not spend from it, so they work also while it is empty.
"""

from hashlib import sha256

from stead.control.accounts.rules import normalize_email
from stead.control.http.client_address import network_of
from stead.control.http.operations import PublicCall
from stead.control.http.rate_limits import Limiter
from stead.shared.errors import RateLimitExceeded

PASSWORDS_PER_MINUTE_AND_ACCOUNT = 5
"""From one network."""
PASSWORDS_PER_MINUTE_FROM_UNKNOWN_NETWORKS = 300
"""For one account."""
PASSWORDS_PER_MINUTE_AND_NETWORK = 30
SIGN_UPS_PER_MINUTE_AND_NETWORK = 10
SIGN_UPS_PER_MINUTE = 600
RESETS_PER_MINUTE_AND_NETWORK = 10
RESETS_PER_MINUTE_AND_ACCOUNT = 3
"""From one network."""
RESETS_PER_MINUTE = 600
VERIFICATIONS_PER_MINUTE_AND_NETWORK = 30


async def limit_password_attempts(
    limiter: Limiter, account: str, network: str, *, is_known_network: bool = False
) -> None:
    """Attempts count even if the account does not exist. Its name is hashed: somebody may have typed a
    password into the wrong field."""
    name = sha256(normalize_email(account).encode()).hexdigest()
    buckets = [
        (f"password:of:{name}:from:{network}", PASSWORDS_PER_MINUTE_AND_ACCOUNT),
        (f"password:from:{network}", PASSWORDS_PER_MINUTE_AND_NETWORK),
    ]
    if not is_known_network:
        buckets.append((f"password:of:{name}", PASSWORDS_PER_MINUTE_FROM_UNKNOWN_NETWORKS))
    await _spend(limiter, *buckets)


async def limit_sign_ups(call: PublicCall) -> None:
    await _spend(
        call.limiter,
        (f"sign-up:from:{network_of(call.address)}", SIGN_UPS_PER_MINUTE_AND_NETWORK),
        ("sign-up:all", SIGN_UPS_PER_MINUTE),
    )


async def limit_password_resets(call: PublicCall, email: str) -> None:
    """Counted for every address, also if it has no account. How many emails an address gets in a day is
    limited for all networks together, silently (`mail_limits`)."""
    name, network = sha256(normalize_email(email).encode()).hexdigest(), network_of(call.address)
    await _spend(
        call.limiter,
        (f"reset:from:{network}", RESETS_PER_MINUTE_AND_NETWORK),
        (f"reset:of:{name}:from:{network}", RESETS_PER_MINUTE_AND_ACCOUNT),
        ("reset:all", RESETS_PER_MINUTE),
    )


async def limit_verifications(call: PublicCall) -> None:
    network = network_of(call.address)
    await _spend(call.limiter, (f"verify:from:{network}", VERIFICATIONS_PER_MINUTE_AND_NETWORK))


async def _spend(limiter: Limiter, *buckets: tuple[str, int]) -> None:
    wait = await limiter.spend_anonymous(*buckets)
    if wait:
        raise RateLimitExceeded(seconds=wait)
