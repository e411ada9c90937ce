"""Requests of functions to listed hosts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

import pytest

from stead.node.containers.egress_rules import EgressRules, read_networks
from stead.node.functions.outgoing import FetchRefused, Outgoing
from stead.shared.address_policy import Address

OWN_NETWORK = EgressRules(networks=read_networks("127.0.0.0/8"))
"""As an operator allows it; no public host can be reached from here."""


class Names:
    """A name server whose answers change: each name has a list of them, and the last one stays."""

    def __init__(self, **answers: list[str]) -> None:
        self._answers = answers

    async def look_up(self, host: str, _: int) -> list[Address]:
        listed = self._answers[host.partition(".")[0]]
        return [ip_address(listed.pop(0) if len(listed) > 1 else listed[0])]


@asynccontextmanager
async def _server(response: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Answers every request with these bytes; its port, and what it has received."""
    received: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(response)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], received


async def _fetch(outgoing: Outgoing, url: str, allowed: list[str], **more: Any) -> dict[str, Any]:
    return await outgoing.send({"url": url, **more}, allowed, "site_a")


async def test_a_listed_host_is_reached_with_the_headers_of_the_function() -> None:
    outgoing = Outgoing(OWN_NETWORK, look_up=Names(api=["127.0.0.1"]).look_up)
    response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Own: 1\r\nX-Stead-Reason: forged\r\n\r\nhello"
    async with _server(response) as (port, received):
        host = f"api.example.com:{port}"
        headers = [["x-key", "1"], ["X-Stead-Site", "other"], ["Host", "other.example.com"]]
        told = await _fetch(outgoing, f"http://{host}/a?b=c", [host], headers=headers)
    assert (told["status"], told["body"], dict(told["headers"])["x-own"]) == (200, "hello", "1")
    assert not [name for name, _ in told["headers"] if name.startswith("x-stead")]
    (request,) = received
    assert request.startswith(b"GET /a?b=c HTTP/1.1\r\nhost: " + host.encode())
    assert b"x-key: 1" in request
    assert b"other" not in request


async def test_a_redirect_to_another_host_is_not_followed() -> None:
    outgoing = Outgoing(OWN_NETWORK, look_up=Names(api=["127.0.0.1"], other=["127.0.0.1"]).look_up)
    response = b"HTTP/1.1 302 Found\r\nLocation: http://other.example.com/\r\nContent-Length: 0\r\n\r\n"
    async with _server(response) as (port, received):
        listed = [f"api.example.com:{port}"]
        told = await _fetch(outgoing, f"http://{listed[0]}/", listed)
        assert (told["status"], dict(told["headers"])["location"]) == (302, "http://other.example.com/")
        with pytest.raises(FetchRefused):
            await _fetch(outgoing, f"http://other.example.com:{port}/", listed)
    assert len(received) == 1


@pytest.mark.parametrize("private", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1"])
async def test_a_name_that_changes_its_address_gains_nothing(private: str) -> None:
    """The address that was checked is the one that is dialled."""
    outgoing = Outgoing(EgressRules(), look_up=Names(rebound=[private]).look_up)
    with pytest.raises(FetchRefused):
        await _fetch(outgoing, "http://rebound.example.com/", ["rebound.example.com"])


async def test_the_platform_is_not_reached_even_in_an_allowed_network() -> None:
    rules = EgressRules(networks=read_networks("127.0.0.0/8"), platform=frozenset({ip_address("127.0.0.1")}))
    outgoing = Outgoing(rules, look_up=Names(api=["127.0.0.1"]).look_up)
    with pytest.raises(FetchRefused):
        await _fetch(outgoing, "http://api.example.com/", ["api.example.com"])


@pytest.mark.parametrize(
    "response",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * (100 << 10) + b"\r\n\r\n",
    ],
)
async def test_what_is_no_response_or_too_large_is_refused(response: bytes) -> None:
    outgoing = Outgoing(OWN_NETWORK, look_up=Names(api=["127.0.0.1"]).look_up)
    async with _server(response) as (port, _):
        host = f"api.example.com:{port}"
        with pytest.raises(FetchRefused):
            await _fetch(outgoing, f"http://{host}/", [host])


async def test_an_answer_with_an_endless_chunk_line_is_refused() -> None:
    outgoing = Outgoing(OWN_NETWORK, look_up=Names(api=["127.0.0.1"]).look_up)
    response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 200_000
    async with _server(response) as (port, _):
        host = f"api.example.com:{port}"
        with pytest.raises(FetchRefused, match="not HTTP"):
            await _fetch(outgoing, f"http://{host}/", [host])


async def test_addresses_of_the_platform_that_are_found_later_are_not_reached() -> None:
    networks = EgressRules(networks=read_networks("127.0.0.0/8"))
    outgoing = Outgoing(networks, look_up=Names(api=["127.0.0.1"]).look_up)
    async with _server(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as (port, _):
        host = f"api.example.com:{port}"
        assert (await _fetch(outgoing, f"http://{host}/", [host]))["status"] == 200
        outgoing.set_platform(frozenset({ip_address("127.0.0.1")}))
        with pytest.raises(FetchRefused, match="platform"):
            await _fetch(outgoing, f"http://{host}/", [host])
