"""How pages check a password: within the limits of attempts, and outside of transactions."""

from stead.control.accounts import password_checks, service
from stead.control.accounts.rules import Account
from stead.control.accounts.throttle import limit_password_attempts
from stead.control.feature import ApiServices
from stead.control.http.client_address import network_of
from stead.control.http.principal import Address


async def check_password(
    services: ApiServices, email: str, password: str, address: Address
) -> Account | None:
    """As `password_checks.check`."""
    network = network_of(address)
    async with services.database.reading() as tx:
        is_known = await service.is_known_network(tx, email, network)
        account = await service.find_by_email(tx, email)
    await limit_password_attempts(services.limiter, email, network, is_known_network=is_known)
    source = password_checks.source_of(account if is_known else None, address)
    return await password_checks.check(account, password, source)
