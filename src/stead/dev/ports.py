"""Assigns free loopback ports to a stack: the same ones in every run, and reserved while it runs."""

import random
import socket
from collections.abc import Iterable, Mapping

from stead.dev.errors import DevError
from stead.dev.supervised_program import LOOPBACK, Ports

PAIR_OFFSET = 10_000
# Below the range that the kernel uses for outgoing connections, including the paired ports, so that no
# outgoing connection takes one of them.
LOWEST, HIGHEST = 10_240, 32_767
ATTEMPTS = 200


class PortReservations:
    """Ports that are reserved for the lifetime of this process. A reservation is an abstract Unix socket name
    that only other stacks check, so the engines can still listen on the port. The kernel removes it when the
    process ends."""

    def __init__(self) -> None:
        self._reserved: dict[int, socket.socket] = {}

    def assign(self, wanted: Iterable[Ports], previous: Mapping[str, int]) -> dict[str, int]:
        """Returns a port for every name: the previous one if it is still free."""
        assigned: dict[str, int] = {}
        for ports in wanted:
            for name in ports.names:
                offset = PAIR_OFFSET if ports.paired else None
                assigned[name] = self._assign(name, previous.get(name), offset)
        return assigned

    def release(self) -> None:
        for reservation in self._reserved.values():
            reservation.close()
        self._reserved.clear()

    def _assign(self, name: str, previous: int | None, offset: int | None) -> int:
        if previous is not None and self._reserve(previous, offset):
            return previous
        for _ in range(ATTEMPTS):
            port = random.randint(LOWEST, HIGHEST - (offset or 0))  # noqa: S311
            if self._reserve(port, offset):
                return port
        raise DevError(f"no free port for {name} between {LOWEST} and {HIGHEST}")

    def _reserve(self, port: int, offset: int | None) -> bool:
        numbers = [port] if offset is None else [port, port + offset]
        made = [reservation for number in numbers if (reservation := _bind_name(number)) is not None]
        if len(made) == len(numbers) and all(map(is_free, numbers)):
            self._reserved.update(zip(numbers, made, strict=True))
            return True
        for reservation in made:
            reservation.close()
        return False


_process_reservations = PortReservations()


def reserve_ports(count: int) -> list[int]:
    """Reserves ports for servers that a process starts outside a stack. They stay reserved until the process
    ends, also while nothing listens on them."""
    names = tuple(f"own {number}" for number in range(count))
    return list(_process_reservations.assign([Ports(names)], {}).values())


def _bind_name(port: int) -> socket.socket | None:
    reservation = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        reservation.bind(f"\0stead-dev-port-{port}")
    except OSError:
        reservation.close()
        return None
    return reservation


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as attempt:
        # Lingering connections of a previous run do not prevent an engine from listening.
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
