"""What other features do with certificates, each inside the caller's transaction."""

from stead.control.certificates import store
from stead.control.certificates.schema import TlsView
from stead.control.engines.postgres import Tx


async def want(tx: Tx, site: str, host: str, region: str) -> None:
    """From now on this host of a site is to have a certificate. Asking again tries again what failed."""
    await store.want(tx, site, host, region)


async def forget(tx: Tx, host: str) -> None:
    """Nobody needs a certificate for this host any more, nor may it be served."""
    await store.forget(tx, host)


async def is_served(tx: Tx, host: str) -> bool:
    """Whether the edges have a certificate for the host that has not ended."""
    return await store.is_served(tx, host)


async def status(tx: Tx, site: str, host: str) -> TlsView:
    return await store.view(tx, site, host) or TlsView(host, "unconfigured", None, None, None)
