"""What other features do with certificates, each inside the caller's transaction."""

from collections.abc import Sequence

from stead.control.certificates import store
from stead.control.certificates.schema import TlsView
from stead.control.engines.postgres import Tx


async def request_certificate(tx: Tx, site: str, host: str, region: str) -> None:
    """Have a certificate issued for a host of a site, and renewed from then on.

    Requesting it again retries an issuance that failed.
    """
    await store.request_certificate(tx, site, host, region)


async def remove_certificate(tx: Tx, host: str) -> None:
    """Stop serving and renewing the certificate of a host."""
    await store.mark_for_removal(tx, host)


async def has_served_certificate(tx: Tx, host: str) -> bool:
    """Whether the edges have a certificate for the host that has not expired."""
    return await store.has_served_certificate(tx, host)


async def get_status(tx: Tx, site: str, host: str) -> TlsView:
    return (await get_statuses(tx, site, [host]))[host]


async def get_statuses(tx: Tx, site: str, hosts: Sequence[str]) -> dict[str, TlsView]:
    """The state of the certificate of each host of a site."""
    found = {view.domain: view for view in await store.list_views(tx, site, hosts)}
    return {host: found.get(host, TlsView(host, "unconfigured", None, None, None)) for host in hosts}
