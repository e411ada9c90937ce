"""Lookups of names for builds: in threads of their own, few at a time, and once for each name."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from ipaddress import ip_address

import pytest

from stead.node.containers.names import LOOKUPS_AT_ONCE, MAX_NAMES, THREADS, PinnedNames, resolve
from stead.shared.address_policy import Address
from tests.patience import time_limit


@pytest.fixture
def silent_name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Lookups wait until the event is set."""
    answer = threading.Event()

    def look_up(*_: object, **__: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        answer.wait(60)
        return [(2, 1, 6, "", ("8.8.8.8", 443))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield answer
    answer.set()


async def test_slow_lookups_do_not_take_the_threads_of_the_agent(silent_name_server: threading.Event) -> None:
    """Heartbeats use the threads of the event loop. A node without heartbeats is taken for lost."""
    lookups = [asyncio.create_task(resolve(f"h{number}.example.com", 443)) for number in range(64)]
    await asyncio.sleep(0)
    async with time_limit(10):
        assert await asyncio.to_thread(lambda: "a heartbeat") == "a heartbeat"
    assert not any(lookup.done() for lookup in lookups)
    silent_name_server.set()
    assert set(map(tuple, await asyncio.gather(*lookups))) == {(ip_address("8.8.8.8"),)}


async def test_one_build_does_not_take_all_threads_of_lookups() -> None:
    running = most = 0

    async def look_up(_: str, __: int) -> list[Address]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return [ip_address("8.8.8.8")]

    loud = PinnedNames(look_up)
    await asyncio.gather(*(loud(f"h{number}.example.com", 443) for number in range(64)))
    assert most == LOOKUPS_AT_ONCE < THREADS


async def test_a_name_keeps_its_addresses_until_the_build_ends() -> None:
    asked: list[str] = []

    async def look_up(host: str, _: int) -> list[Address]:
        asked.append(host)
        return [ip_address(f"8.8.8.{len(asked)}")]

    pinned = PinnedNames(look_up)
    found = [await pinned(host, port) for host, port in (("a.test", 443), ("A.test.", 22), ("a.test", 80))]
    assert found == [[ip_address("8.8.8.1")]] * 3
    assert asked == ["a.test"]
    assert await PinnedNames(look_up)("a.test", 443) == [ip_address("8.8.8.2")]


async def test_the_number_of_names_of_a_build_is_limited() -> None:
    async def look_up(_: str, __: int) -> list[Address]:
        return [ip_address("8.8.8.8")]

    pinned = PinnedNames(look_up)
    for number in range(MAX_NAMES):
        await pinned(f"h{number}.test", 443)
    with pytest.raises(OSError, match="too many names"):
        await pinned("one.more.test", 443)
    assert await pinned("h1.test", 443) == [ip_address("8.8.8.8")]
