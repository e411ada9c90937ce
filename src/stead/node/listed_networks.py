"""The operator's list of networks that send attacks, for nginx: read from a file or an https address,
checked, and written as sorted ranges.

A list that cannot be read or is malformed changes nothing: nginx keeps the last good one, also after a
restart.
"""

import asyncio
import hashlib
import time
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from pathlib import Path

import requests
import structlog

from stead.node.feed.run_directory import prepare_run_directory
from stead.node.uninterrupted import run_in_thread

FILE = "listed-networks"
MAX_BYTES = 16 * 1024 * 1024
MAX_NETWORKS = 500_000
MAX_MALFORMED_PART = 0.01
"""A page with an error message is not a list; a few odd lines do no harm."""
WIDEST = {4: 8, 6: 19}
"""A network with a shorter prefix would be a large part of the internet, and is certainly a mistake."""
RETRY_SECONDS = 300.0
_CONNECT_SECONDS, _SILENCE_SECONDS, _TOTAL_SECONDS = 10.0, 30.0, 120.0
_CHUNK = 64 * 1024

log = structlog.get_logger()


class ListUnusable(Exception):
    """The list cannot be used; the message says why."""


class ListedNetworks:
    def __init__(self, source: str, data: Path, *, every: float) -> None:
        """`source` is a path or begins with `https://`; empty for no list."""
        self._source, self._data, self._every = source, data, every

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            is_current = await self.refresh()
            await asyncio.sleep(self._every if is_current else min(RETRY_SECONDS, self._every))

    async def refresh(self) -> bool:
        """Whether nginx has what the source says."""
        try:
            count = await run_in_thread(self._refresh)
        except (ListUnusable, OSError, requests.RequestException) as error:
            reason = str(error) if isinstance(error, ListUnusable) else type(error).__name__
            log.warning("networks.not_refreshed", reason=reason)
            return False
        if count is not None:
            log.info("networks.refreshed", networks=count)
        return True

    def _refresh(self) -> int | None:
        target = prepare_run_directory(self._data) / FILE
        if not self._source:
            target.unlink(missing_ok=True)
            return None
        networks = parse_networks(read_source(self._source))
        content = encode_networks(networks)
        if target.exists() and target.read_bytes() == content:
            return None
        fresh = target.with_suffix(".new")
        fresh.write_bytes(content)
        # The workers of nginx read it; the directory keeps all others out.
        fresh.chmod(0o644)
        fresh.replace(target)
        return len(networks)


def read_source(source: str) -> bytes:
    if source.startswith("https://"):
        return _download(source)
    with Path(source).open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ListUnusable("the list is too large")
    return content


def _download(address: str) -> bytes:
    content, until = b"", time.monotonic() + _TOTAL_SECONDS
    timeout = (_CONNECT_SECONDS, _SILENCE_SECONDS)
    with requests.get(address, stream=True, timeout=timeout, allow_redirects=False) as response:
        if response.status_code != 200:
            raise ListUnusable(f"the server answered {response.status_code}")
        for chunk in response.iter_content(_CHUNK):
            content += chunk
            if len(content) > MAX_BYTES:
                raise ListUnusable("the list is too large")
            if time.monotonic() > until:
                raise ListUnusable("the server is too slow")
    return content


def parse_networks(content: bytes) -> list[IPv4Network | IPv6Network]:
    """One address or network per line; everything after it, and after `#` or `;`, is a comment."""
    found: list[IPv4Network | IPv6Network] = []
    malformed = lines = 0
    for line in content.decode("utf-8", errors="replace").splitlines():
        words = line.replace("#", " # ").replace(";", " ; ").split()
        if not words or words[0] in {"#", ";"}:
            continue
        lines += 1
        network = _parse(words[0])
        if network is None:
            malformed += 1
        elif len(found) == MAX_NETWORKS:
            raise ListUnusable(f"the list has more than {MAX_NETWORKS} networks")
        else:
            found.append(network)
    if malformed > lines * MAX_MALFORMED_PART:
        raise ListUnusable(f"{malformed} of {lines} lines are not networks")
    return found


def _parse(text: str) -> IPv4Network | IPv6Network | None:
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return None
    return network if network.prefixlen >= WIDEST[network.version] else None


def encode_networks(networks: Iterable[IPv4Network | IPv6Network]) -> bytes:
    """The file as nginx reads it: a line with a digest and two numbers, then the first and last address of
    each range, in order."""
    known = list(networks)
    four = list(collapse_addresses(each for each in known if isinstance(each, IPv4Network)))
    six = list(collapse_addresses(each for each in known if isinstance(each, IPv6Network)))
    all_networks: list[IPv4Network | IPv6Network] = [*four, *six]
    ranges = b"".join(each[0].packed + each[-1].packed for each in all_networks)
    digest = hashlib.sha256(ranges).hexdigest()[:32]
    return f"stead-networks {digest} {len(four)} {len(six)}\n".encode() + ranges
