"""Addresses and networks in Lua, compared with Python's."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.edge.lua import module, runtime

LUA = runtime()
ADDRESSES = module(LUA, "addresses")

v4 = st.integers(0, 2**32 - 1).map(ipaddress.IPv4Address)
v6 = st.integers(0, 2**128 - 1).map(ipaddress.IPv6Address)
# Neighbours, so that an address lies in a network often enough.
near_v4 = st.integers(0, 2**12).map(lambda n: ipaddress.IPv4Address(0x0A000000 + n))
near_v6 = st.integers(0, 2**12).map(lambda n: ipaddress.IPv6Address((0x20010DB8 << 96) + n))
address = st.one_of(v4, v6, near_v4, near_v6)


def network(given: tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]) -> str:
    where, length = given
    return f"{where}/{length % (where.max_prefixlen + 1)}"


networks = st.lists(
    st.one_of(address.map(str), st.tuples(address, st.integers(0, 200)).map(network)), max_size=12
)


def unmapped(
    where: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return (where.ipv4_mapped or where) if isinstance(where, ipaddress.IPv6Address) else where


@given(address)
def test_addresses_are_parsed_like_in_python(where: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    for text in {str(where), where.exploded, str(where).upper()}:
        assert ADDRESSES.parse(text.encode()) == unmapped(where).packed


@given(st.text("0123456789abcdefg:./ x", max_size=24))
def test_addresses_that_python_refuses_are_refused(text: str) -> None:
    try:
        expected: bytes | None = unmapped(ipaddress.ip_address(text)).packed
    except ValueError:
        expected = None
    assert ADDRESSES.parse(text.encode()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1.2.3",
        "1.2.3.4.5",
        "01.2.3.4",
        "256.1.1.1",
        ":",
        ":::",
        "1::2::3",
        "::1%eth0",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "12345::",
        "::1.2.3",
        "1.2.3.4::",
        "1:",
        ":1",
        "0x7f.0.0.1",
        "2130706433",
        "1.2.3.4\n",
    ],
)
def test_malformed_addresses_are_refused(text: str) -> None:
    assert ADDRESSES.parse(text.encode()) is None


@given(networks, address)
def test_an_address_is_allowed_if_it_is_in_one_of_the_networks(
    listed: list[str], where: ipaddress.IPv4Address | ipaddress.IPv6Address
) -> None:
    compiled = ADDRESSES.compile(LUA.table_from([each.encode() for each in listed]))
    visitor = unmapped(where)
    expected = any(
        visitor.version == net.version and visitor in net
        for net in (ipaddress.ip_network(each, strict=False) for each in listed)
    )
    assert ADDRESSES.contains(compiled, str(where).encode()) is expected


def test_addresses_of_one_v6_network_are_counted_together() -> None:
    client_key = ADDRESSES.client_key
    assert client_key(b"2001:db8:1:2::1") == client_key(b"2001:db8:1:2:ffff::9")
    assert client_key(b"2001:db8:1:2::1") != client_key(b"2001:db8:1:3::1")
    assert client_key(b"192.0.2.1") != client_key(b"192.0.2.2")
