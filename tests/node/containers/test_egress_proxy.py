"""The egress proxy: what it dials, what it refuses, and what it reports."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path

import psutil
import pytest

from stead.node.containers.egress_proxy import EgressProxy
from stead.node.containers.egress_rules import (
    EgressRefused,
    EgressRules,
    HostRule,
    read_host_rules,
    read_networks,
    read_plain_networks,
)
from stead.node.containers.names import resolve
from stead.node.feed.record_store import RecordChange, RecordStore
from stead.node.platform_addresses import find_platform_addresses
from stead.node.settings import Settings
from stead.protocol.edge_records import PeerRecord, encode
from stead.shared.address_policy import Address
from tests.patience import time_limit

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


class Names:
    """A resolver with answers given by the test, one after the other."""

    def __init__(self, **answers: list[str]) -> None:
        self._answers, self.asked = answers, list[str]()

    async def __call__(self, host: str, _: int) -> list[Address]:
        self.asked.append(host)
        try:
            return [ip_address(host)]
        except ValueError:
            given = self._answers[host.split(".")[0]]
        # The last answer repeats.
        return [ip_address(text) for text in (given.pop(0) if len(given) > 1 else given[0]).split()]


class Server:
    def __init__(self) -> None:
        self.port, self.heard = 0, list[bytes]()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(ANSWER)
        await writer.drain()
        writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    it = Server()
    async with await asyncio.start_server(it.serve, "127.0.0.1", 0) as listening:
        it.port = listening.sockets[0].getsockname()[1]
        yield it


@asynccontextmanager
async def proxy(tmp_path: Path, rules: EgressRules, names: Names, said: list[str]) -> AsyncIterator[Path]:
    async def tell(text: str) -> None:
        said.append(text)

    async with EgressProxy(rules, tell, names).listen(tmp_path / "egress.sock"):
        yield tmp_path / "egress.sock"


async def ask(door: Path, request: str) -> bytes:
    reader, writer = await asyncio.open_unix_connection(door)
    writer.write(request.encode())
    try:
        async with time_limit(20):
            return await reader.read()
    finally:
        writer.close()


async def test_a_listed_host_is_reached_through_a_tunnel_and_with_a_plain_request(
    tmp_path: Path, server: Server
) -> None:
    rules = EgressRules(
        (HostRule("good.example.com", server.port),), read_networks(f"127.0.0.0/8:{server.port}")
    )
    said: list[str] = []
    async with proxy(tmp_path, rules, Names(good=["127.0.0.1"]), said) as door:
        tunnel = await ask(
            door,
            f"CONNECT good.example.com:{server.port} HTTP/1.1\r\n\r\n"
            f"GET /a HTTP/1.1\r\nHost: good.example.com:{server.port}\r\n\r\n",
        )
        assert tunnel == b"HTTP/1.1 200 Connection established\r\n\r\n" + ANSWER
        plain = await ask(
            door,
            f"GET http://good.example.com:{server.port}/b?c=d HTTP/1.1\r\nHost: other.example.com\r\n"
            "Proxy-Authorization: Basic eDp5\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n",
        )
    assert plain == ANSWER
    host = f"Host: good.example.com:{server.port}".encode()
    assert server.heard[0].split(b"\r\n") == [b"GET /a HTTP/1.1", host, b"Connection: close", b"", b""]
    assert server.heard[1].split(b"\r\n") == [
        b"GET /b?c=d HTTP/1.1",
        host,
        b"Connection: close",
        b"Accept: */*",
        b"",
        b"",
    ]
    assert said == []


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "0.1.2.3", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1"),
        *("169.254.169.254", "168.63.129.16", "192.0.0.192", "224.0.0.1", "255.255.255.255"),
        *("::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "fe80::1", "fd00:ec2::254", "64:ff9b::a00:1"),
        *("2002:7f00:1::", "::127.0.0.1"),
    ],
)
async def test_a_listed_name_with_a_private_address_is_refused(
    tmp_path: Path, server: Server, address: str
) -> None:
    said: list[str] = []
    rules = EgressRules((HostRule("*", server.port),))
    async with proxy(tmp_path, rules, Names(good=[address]), said) as door:
        answer = await ask(door, f"CONNECT good.example.com:{server.port} HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert said == [f"egress: refused good.example.com:{server.port}: its address is not public"]
    assert server.heard == []


@pytest.mark.parametrize(
    "target",
    ["127.0.0.1", "2130706433", "0x7f000001", "127.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0"],
)
async def test_no_spelling_of_loopback_is_reached(tmp_path: Path, server: Server, target: str) -> None:
    """With the machine's resolver, and a rule that allows every name."""
    said: list[str] = []

    async def tell(text: str) -> None:
        said.append(text)

    async with EgressProxy(EgressRules((HostRule("*", server.port),)), tell, resolve).listen(
        tmp_path / "egress.sock"
    ):
        answer = await ask(
            tmp_path / "egress.sock", f"GET http://{target}:{server.port}/ HTTP/1.1\r\nHost: x\r\n\r\n"
        )
    assert answer.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 502 "))
    assert server.heard == []


async def test_the_checked_address_is_dialled_even_if_the_name_changes(
    tmp_path: Path, server: Server
) -> None:
    """DNS rebinding: the address is public when it is checked, and loopback a moment later."""
    names, said = Names(evil=["198.51.100.7 203.0.113.9 8.8.8.8", "127.0.0.1"]), list[str]()
    rules = EgressRules((HostRule("evil.example.com", server.port),))
    async with proxy(tmp_path, rules, names, said) as door:
        dialling = asyncio.create_task(
            ask(door, f"CONNECT evil.example.com:{server.port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        )
        await asyncio.wait({dialling}, timeout=2)
        assert names.asked == ["evil.example.com"]
        second = await ask(door, f"CONNECT evil.example.com:{server.port} HTTP/1.1\r\n\r\n")
        dialling.cancel()
        await asyncio.wait({dialling})
    assert second.startswith(b"HTTP/1.1 403 ")
    assert server.heard == []


async def test_only_the_public_addresses_of_a_name_are_dialled(server: Server) -> None:
    rules = EgressRules((HostRule("*"),))
    found = [ip_address(text) for text in ("127.0.0.1", "8.8.8.8", "::1", "2606:4700::1", "10.0.0.1")]
    permitted = rules.permitted(rules.rule_for("some.example.com", 443), "some.example.com", 443, found)
    assert [str(address) for address in permitted] == ["8.8.8.8", "2606:4700::1"]


async def test_other_ports_of_an_allowed_network_are_refused(tmp_path: Path, server: Server) -> None:
    """For example NATS, or another tenant's database, on the machine of the operator's git server."""
    said: list[str] = []
    rules = EgressRules((HostRule("127.0.0.1", server.port),), read_networks("127.0.0.0/8:9418"))
    async with proxy(tmp_path, rules, Names(), said) as door:
        answer = await ask(door, f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert server.heard == []


async def test_the_operators_registry_is_reached_whatever_its_address(tmp_path: Path, server: Server) -> None:
    rules = EgressRules(
        (HostRule("registry.internal", server.port, any_address=True), HostRule("*", server.port))
    )
    async with proxy(tmp_path, rules, Names(registry=["127.0.0.1"], other=["127.0.0.1"]), []) as door:
        good = await ask(door, f"GET http://registry.internal:{server.port}/ HTTP/1.1\r\n\r\n")
        bad = await ask(door, f"GET http://other.internal:{server.port}/ HTTP/1.1\r\n\r\n")
    assert (good, bad[:12]) == (ANSWER, b"HTTP/1.1 403")


@pytest.mark.parametrize(
    "request_",
    [
        "GET / HTTP/1.1\r\n\r\n",
        "GET https://good.example.com/ HTTP/1.1\r\n\r\n",
        "GET ftp://good.example.com/ HTTP/1.1\r\n\r\n",
        "CONNECT good.example.com:99999 HTTP/1.1\r\n\r\n",
        "CONNECT :443 HTTP/1.1\r\n\r\n",
        "nonsense\r\n\r\n",
    ],
)
async def test_a_malformed_proxy_request_gets_a_400(tmp_path: Path, request_: str) -> None:
    async with proxy(tmp_path, EgressRules((HostRule("*"),)), Names(good=["127.0.0.1"]), []) as door:
        assert (await ask(door, request_)).startswith(b"HTTP/1.1 400 ")


async def test_only_the_first_refusals_are_reported(tmp_path: Path) -> None:
    said: list[str] = []
    async with proxy(tmp_path, EgressRules(), Names(), said) as door:
        for number in range(60):
            await ask(door, f"CONNECT h{number % 30}.example.com:443 HTTP/1.1\r\n\r\n")
    assert len(said) == 20 == len(set(said))


@pytest.mark.parametrize(
    ("listed", "host", "port", "covered"),
    [
        ("example.com", "example.com", 443, True),
        ("example.com", "EXAMPLE.com.", 443, True),
        ("example.com", "example.com", 80, False),
        ("example.com", "a.example.com", 443, False),
        ("example.com", "badexample.com", 443, False),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "badexample.com", 443, False),
        ("a.example.com:8443, b.example.com", "a.example.com", 8443, True),
        ("", "example.com", 443, False),
    ],
)
def test_the_egress_list_covers_hosts_ports_and_wildcards(
    listed: str, host: str, port: int, *, covered: bool
) -> None:
    rules = EgressRules(read_host_rules(listed))
    if covered:
        rules.rule_for(host, port)
    else:
        with pytest.raises(EgressRefused, match="it is not on the egress list"):
            rules.rule_for(host, port)


@pytest.mark.parametrize("text", ["a*.example.com", ":443", "host:", "host:0", "host:70000", "host:https"])
def test_a_malformed_egress_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        read_host_rules(text)


@pytest.mark.parametrize("text", ["10.0.0.1", "10.0.0.1/8", "10.0.0.0/8:x", "nonsense/8", "10.0.0.0/8:0"])
def test_malformed_networks_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_networks(text)


def client_hello(name: str | None) -> bytes:
    """What a real TLS client sends first."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


class Listener:
    """Records every byte that arrives."""

    def __init__(self) -> None:
        self.port, self.heard = 0, b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            self.heard += data
        writer.close()


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    it = Listener()
    async with await asyncio.start_server(it.serve, "127.0.0.1", 0) as listening:
        it.port = listening.sockets[0].getsockname()[1]
        yield it


async def tunnel(door: Path, host: str, port: int, *pieces: bytes) -> None:
    """Open a tunnel and send the pieces one after the other."""
    reader, writer = await asyncio.open_unix_connection(door)
    writer.write(f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode())
    async with time_limit(20):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)
        writer.write_eof()
        await reader.read()
    writer.close()


def _http(host: str) -> bytes:
    return f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


FOREIGN = {
    "another name": client_hello("victim.example.com"),
    "no name": client_hello(None),
    "an address": client_hello("127.0.0.1"),
    "another host": _http("victim.example.com"),
    "two hosts": b"GET / HTTP/1.1\r\nHost: good.example.com\r\nHost: victim.example.com\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "an absolute address": b"GET http://victim.example.com/ HTTP/1.1\r\nHost: good.example.com\r\n\r\n",
    "an empty line first": b"\r\n" + _http("victim.example.com"),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "ssh": b"SSH-2.0-client\r\n",
    "another protocol": b"\x00\x00\x00\x10 some database",
    "a damaged hello": b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00" + bytes(40),
}


@pytest.mark.parametrize("opening", FOREIGN.values(), ids=FOREIGN)
async def test_a_tunnel_that_is_used_for_another_host_is_closed(
    tmp_path: Path, listener: Listener, opening: bytes
) -> None:
    """Domain fronting: a shared server, such as an edge, has many names at one address."""
    rules = EgressRules(
        (HostRule("good.example.com", listener.port),), read_networks(f"127.0.0.0/8:{listener.port}")
    )
    said: list[str] = []
    async with proxy(tmp_path, rules, Names(good=["127.0.0.1"]), said) as door:
        await tunnel(door, "good.example.com", listener.port, opening)
    assert listener.heard == b""
    assert len(said) == 1
    assert said[0].startswith(f"egress: refused good.example.com:{listener.port}: ")


@pytest.mark.parametrize("step", [1, 7, 100_000])
async def test_a_tunnel_for_its_own_host_is_forwarded_however_its_hello_is_split(
    tmp_path: Path, listener: Listener, step: int
) -> None:
    hello = client_hello("GOOD.example.com")
    pieces = [hello[start : start + step] for start in range(0, len(hello), step)]
    rules = EgressRules(
        (HostRule("good.example.com", listener.port),), read_networks(f"127.0.0.0/8:{listener.port}")
    )
    async with proxy(tmp_path, rules, Names(good=["127.0.0.1"]), []) as door:
        await tunnel(door, "good.example.com", listener.port, *pieces)
    assert listener.heard == hello


async def test_a_git_source_over_ssh_is_reached(tmp_path: Path, listener: Listener) -> None:
    rules = EgressRules(
        (HostRule("good.example.com", listener.port, ssh=True),),
        read_networks(f"127.0.0.0/8:{listener.port}"),
    )
    async with proxy(tmp_path, rules, Names(good=["127.0.0.1"]), []) as door:
        await tunnel(door, "good.example.com", listener.port, b"SSH-2.0-client\r\n", b"more")
    assert listener.heard == b"SSH-2.0-client\r\nmore"


async def test_a_second_request_in_a_tunnel_does_not_reach_another_host(
    tmp_path: Path, server: Server
) -> None:
    """The server is told to close the connection after the first one."""
    rules = EgressRules(
        (HostRule("good.example.com", server.port),), read_networks(f"127.0.0.0/8:{server.port}")
    )
    async with proxy(tmp_path, rules, Names(good=["127.0.0.1"]), []) as door:
        await tunnel(
            door, "good.example.com", server.port, _http("good.example.com") + _http("victim.example.com")
        )
    (heard,) = server.heard
    assert b"Connection: close" in heard
    assert b"victim" not in heard


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1", "203.0.114.7"])
async def test_no_rule_reaches_an_address_of_the_platform(tmp_path: Path, address: str) -> None:
    """Edges trust requests from nodes, and their addresses are public."""
    said: list[str] = []
    rules = EgressRules(
        (HostRule("*"),),
        read_networks("0.0.0.0/0, ::/0"),
        platform=frozenset({ip_address("8.8.8.8"), ip_address("2606:4700::1")}),
        platform_networks=read_plain_networks("203.0.114.0/24"),
    )
    async with proxy(tmp_path, rules, Names(good=[address]), said) as door:
        answer = await ask(door, "CONNECT good.example.com:443 HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert said == ["egress: refused good.example.com:443: its address is one of the platform"]


async def test_a_port_that_the_operator_named_is_reached_on_a_platform_host(
    tmp_path: Path, server: Server
) -> None:
    rules = EgressRules(
        (HostRule("git.internal", server.port),),
        read_networks(f"127.0.0.1/32:{server.port}"),
        platform=frozenset({ip_address("127.0.0.1")}),
    )
    async with proxy(tmp_path, rules, Names(git=["127.0.0.1"]), []) as door:
        assert await ask(door, f"GET http://git.internal:{server.port}/ HTTP/1.1\r\n\r\n") == ANSWER


def test_a_node_knows_its_own_addresses_and_those_of_other_edges(tmp_path: Path) -> None:
    store = RecordStore(tmp_path / "edge.sqlite")
    record = encode(PeerRecord("198.51.100.9:80"))
    store.apply([RecordChange("us-east.node.other", 1, 1, record)], last=True)
    store.close()
    settings = Settings(
        node_id="here",
        node_data=str(tmp_path),
        nats_url="nats://198.51.100.10:4222",
        nats_user="",
        nats_password="",
        edge_address="127.0.0.1:80",
        edge_public_address="198.51.100.11:80",
    )
    found = find_platform_addresses(settings)
    assert {ip_address(f"198.51.100.{last}") for last in (9, 10, 11)} <= found
    assert ip_address("127.0.0.1") in found
    own = {
        ip_address(each.address.partition("%")[0])
        for every in psutil.net_if_addrs().values()
        for each in every
        if each.family in (socket.AF_INET, socket.AF_INET6)
    }
    assert own <= found
