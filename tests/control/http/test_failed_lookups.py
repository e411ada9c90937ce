"""The limit of unknown credentials per address."""

from ipaddress import ip_address

import pytest

from stead.control.http import failed_lookups
from stead.control.http.failed_lookups import FailedLookups

HERE, THERE = ip_address("192.0.2.1"), ip_address("192.0.2.2")


def spend(limit: FailedLookups, address: str, times: int) -> list[bool]:
    return [limit.spend(ip_address(address)) == 0 for _ in range(times)]


def test_an_address_has_its_own_limit():
    limit = FailedLookups(3)
    assert spend(limit, "192.0.2.1", 4) == [True, True, True, False]
    assert spend(limit, "192.0.2.2", 1) == [True]
    assert 1 <= limit.spend(HERE) <= 20


def test_a_lookup_that_finds_a_credential_spends_nothing():
    limit = FailedLookups(3)
    for _ in range(100):
        assert limit.spend(HERE) == 0
        limit.give_back(HERE)
    limit.give_back(THERE)
    assert spend(limit, "192.0.2.1", 4) == [True, True, True, False]


def test_the_addresses_of_a_network_share_a_limit_in_ipv6_only():
    limit = FailedLookups(1)
    assert spend(limit, "2001:db8::1", 1) == [True]
    assert spend(limit, "2001:db8::ffff", 1) == [False]
    assert spend(limit, "2001:db8:0:1::1", 1) == [True]


def test_a_bounded_number_of_addresses_is_remembered(monkeypatch: pytest.MonkeyPatch):
    # It takes long to fill the number of addresses that ships.
    monkeypatch.setattr(failed_lookups, "MAX_ADDRESSES", 10)
    limit = FailedLookups(3)
    for number in range(100):
        limit.spend(ip_address(number))
    assert len(limit._full_at) == 10
