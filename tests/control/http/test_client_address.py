"""Where a request came from: nobody but a trusted proxy can say so for another."""

from ipaddress import ip_address

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stead.control.app import ControlPlane
from stead.control.http.client_address import LOOPBACK, client_address, parse_networks
from stead.control.settings import Settings
from stead.shared.clock import MovableClock
from tests.client import Client, code_of
from tests.people import Person

PROXIES = parse_networks(["10.0.0.0/8", "fd00::/8", "192.0.2.10"])
addresses = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.7", "", "203.0.113.7"),
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.7", "203.0.113.7"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.7", "203.0.113.7"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.7, 10.9.9.9", "203.0.113.7"),
        ("10.0.0.1", "203.0.113.7, 192.0.2.10, fd00::1", "203.0.113.7"),
        ("10.0.0.1", "10.0.0.2, 10.0.0.3", "10.0.0.2"),
        ("10.0.0.1", "203.0.113.7,203.0.113.8", "203.0.113.8"),
        ("10.0.0.1", "  203.0.113.7  ", "203.0.113.7"),
        ("10.0.0.1", "203.0.113.7, unknown", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.7, ", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.7, 10.0.0.2, rubbish, 10.0.0.3", "10.0.0.3"),
        ("10.0.0.1", "203.0.113.7:4711", "10.0.0.1"),
        ("10.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("::ffff:10.0.0.1", "203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("10.0.0.1", "::ffff:203.0.113.7", "203.0.113.7"),
        ("10.0.0.1", "198.51.100.1, ::ffff:10.0.0.2", "198.51.100.1"),
        ("fd00::5", "2001:db8::7", "2001:db8::7"),
        (None, "203.0.113.7", "127.0.0.1"),
        ("", "203.0.113.7", "127.0.0.1"),
        ("a socket", "203.0.113.7", "127.0.0.1"),
    ],
)
def test_the_nearest_address_that_is_no_trusted_proxy_counts(peer: str | None, forwarded: str, client: str):
    assert client_address(peer, forwarded, PROXIES) == ip_address(client)


@given(peer=addresses, forwarded=st.text(max_size=60))
def test_without_trusted_proxies_nothing_that_is_sent_counts(peer: str, forwarded: str):
    assert client_address(peer, forwarded, ()) == client_address(peer, "", ())


@given(forged=st.lists(st.one_of(addresses, st.text(max_size=12)), max_size=5), client=st.ip_addresses(v=4))
def test_what_a_client_forges_stands_left_of_what_the_proxy_saw(forged: list[str], client):
    proxy = ip_address("10.0.0.1")
    seen = client_address(str(proxy), ", ".join([*forged, str(client)]), PROXIES)
    if not any(client in network for network in PROXIES):
        assert seen == client


@given(peer=st.one_of(st.none(), st.text(max_size=40)), forwarded=st.text(max_size=80))
def test_garbage_is_never_a_crash(peer: str | None, forwarded: str):
    assert client_address(peer, forwarded, PROXIES).version in (4, 6)


def test_an_unknown_peer_is_this_machine():
    assert client_address(None, "", ()) == LOOPBACK


@pytest.mark.parametrize("text", ["10.0.0.1/8", "fd00::1/8", "", "10.0.0.0/33", "proxy.example", "10.0.0.*"])
def test_a_network_with_host_bits_or_none_at_all_is_refused(text: str):
    with pytest.raises(ValueError):
        parse_networks([text])


def test_networks_are_read_exactly():
    assert [str(network) for network in parse_networks(["192.0.2.1", "::1", "10.0.0.0/8"])] == [
        "192.0.2.1/32",
        "::1/128",
        "10.0.0.0/8",
    ]


async def test_behind_a_trusted_proxy_the_allowlist_means_the_client(
    person: Person, settings: Settings, clock: MovableClock
):
    """A control plane of its own, configured as behind two proxies."""
    secret = await person.secret("account:read", ip_allowlist=["203.0.113.7"])
    plane = ControlPlane(replace(settings, trusted_proxies="10.0.0.0/8, 192.0.2.10"), clock=clock)
    async with plane.running():

        async def code(peer: str, *forwarded: str) -> str:
            client = Client(
                transport=httpx.ASGITransport(plane, client=(peer, 1)), base_url="http://stead.test"
            )
            headers = [("authorization", f"Bearer {secret}")]
            headers += [("x-forwarded-for", each) for each in forwarded]
            return code_of(await client.get("/v1/account", headers=headers))

        refused = "auth.ip_not_allowed"
        assert await code("10.0.0.1", "203.0.113.7") == "200"
        assert await code("10.0.0.1", "203.0.113.7, 192.0.2.10") == "200"
        assert await code("10.0.0.1", "203.0.113.7, 198.51.100.9") == refused
        assert await code("10.0.0.1", "203.0.113.7", "198.51.100.9") == refused
        assert await code("198.51.100.9", "203.0.113.7") == refused
        assert await code("10.0.0.1") == refused
