"""How pages check a password: within the limits of attempts, and outside of transactions."""

from stead.control.accounts import password_checks, service
from stead.control.accounts.rules import Account
from stead.control.accounts.throttle import limit_password_attempts
from stead.control.feature import ApiServices


async def check_password(services: ApiServices, email: str, password: str, network: str) -> Account | None:
    """As `password_checks.check`. Raises RateLimitExceeded, too."""
    async with services.database.reading() as tx:
        is_known = await service.is_known_network(tx, email, network)
        account = await service.find_by_email(tx, email)
    await limit_password_attempts(services.limiter, email, network, is_known_network=is_known)
    return await password_checks.check(account, password)
