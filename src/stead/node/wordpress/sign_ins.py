"""Spends sign-in links for the PHP of WordPress sites. The control plane decides whether a link is valid."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import sha256
from ipaddress import IPv6Address, ip_address

from stead.node.wordpress.agent_socket import SignInMessage, SiteAnswer
from stead.protocol.sign_ins import SignIn
from stead.shared.token_bucket import TokenBucket

PER_SECOND, BURST = 1.0, 20
"""Of one address, so that a visitor who guesses does not lock out others. Visitors can send anything."""
SITE_PER_SECOND, SITE_BURST = 3.0, 60
"""Of all addresses together: what the control plane is asked about one environment."""
MAX_ADDRESSES = 256
"""Remembered for one environment."""
REFUSED, UNAVAILABLE = "refused", "unavailable"

Ask = Callable[[str, str, bytes], Awaitable[SignIn | None]]
"""Called with an environment, a host and the hash of a token. None if there is no answer."""


async def ask_nobody(_environment: str, _host: str, _token_hash: bytes) -> None:
    return None


class SiteLimits:
    """How often one environment may ask."""

    def __init__(self) -> None:
        self._all = TokenBucket(SITE_PER_SECOND, SITE_BURST)
        self._addresses: OrderedDict[str, TokenBucket] = OrderedDict()

    def take(self, address: str) -> bool:
        network = _network_of(address)
        bucket = self._addresses.setdefault(network, TokenBucket(PER_SECOND, BURST))
        self._addresses.move_to_end(network)
        if len(self._addresses) > MAX_ADDRESSES:
            self._addresses.popitem(last=False)
        return bucket.take() and self._all.take()


def _network_of(address: str) -> str:
    """One visitor has a whole /64 of IPv6."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return ""
    return parsed.packed[:8].hex() if isinstance(parsed, IPv6Address) else address


class SignIns:
    def __init__(self, ask: Ask = ask_nobody) -> None:
        self._ask = ask
        self._limits: dict[str, SiteLimits] = {}

    async def redeem(self, environment: str, wanted: SignInMessage) -> SiteAnswer:
        """The environment is the one whose socket it was, so a site cannot spend links of another."""
        if not self._limits.setdefault(environment, SiteLimits()).take(wanted.address):
            return SiteAnswer(UNAVAILABLE)
        token_hash = sha256(wanted.token.encode()).digest()
        signed_in = await self._ask(environment, wanted.host, token_hash)
        if signed_in is None:
            return SiteAnswer(UNAVAILABLE)
        return SiteAnswer(sign_in=signed_in) if signed_in.user else SiteAnswer(REFUSED)

    def forget(self, environment: str) -> None:
        self._limits.pop(environment, None)
