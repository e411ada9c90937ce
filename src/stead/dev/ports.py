"""Free loopback ports that stay the stack's own: remembered between runs, claimed while it runs."""

import random
import socket
from collections.abc import Iterable, Mapping

from stead.dev.engine import LOOPBACK, DevError, Ports

TWIN = 10_000
# Below the range the kernel hands to outgoing connections, twins included: nobody takes them by accident.
LOWEST, HIGHEST = 10_240, 32_767
TRIES = 200


class Claims:
    """Ports held for as long as this process lives. A claim is a name that only other stacks look at, so the
    engines are free to listen; the kernel drops it with us."""

    def __init__(self) -> None:
        self._held: dict[int, socket.socket] = {}

    def settle(self, wanted: Iterable[Ports], remembered: Mapping[str, int]) -> dict[str, int]:
        """A port for every name: the remembered one where it is still to be had."""
        settled: dict[str, int] = {}
        for ports in wanted:
            for name in ports.names:
                settled[name] = self._settle(name, remembered.get(name), TWIN if ports.twins else None)
        return settled

    def release(self) -> None:
        for claim in self._held.values():
            claim.close()
        self._held.clear()

    def _settle(self, name: str, remembered: int | None, twin: int | None) -> int:
        if remembered is not None and self._claim(remembered, twin):
            return remembered
        for _ in range(TRIES):
            port = random.randint(LOWEST, HIGHEST - (twin or 0))  # noqa: S311
            if self._claim(port, twin):
                return port
        raise DevError(f"no free port for {name} between {LOWEST} and {HIGHEST}")

    def _claim(self, port: int, twin: int | None) -> bool:
        pair = [port] if twin is None else [port, port + twin]
        claims = [claim for number in pair if (claim := _claimed(number)) is not None]
        if len(claims) == len(pair) and all(map(free, pair)):
            self._held.update(zip(pair, claims, strict=True))
            return True
        for claim in claims:
            claim.close()
        return False


_own = Claims()


def own_ports(count: int) -> list[int]:
    """For servers that a process starts besides a stack: its own as long as it lives, also while nothing
    listens on them."""
    names = tuple(f"own {number}" for number in range(count))
    return list(_own.settle([Ports(names)], {}).values())


def _claimed(port: int) -> socket.socket | None:
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(f"\0stead-dev-port-{port}")
    except OSError:
        claim.close()
        return None
    return claim


def free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as attempt:
        # Connections of a run that just ended linger; they do not keep an engine from listening.
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
