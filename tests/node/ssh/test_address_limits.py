from stead.node.ssh.gateway.address_limits import (
    CONNECTIONS_AT_ONCE,
    FAILURE_SECONDS,
    FAILURES,
    PER_ADDRESS,
    UNAUTHENTICATED,
    UNAUTHENTICATED_PER_ADDRESS,
    AddressLimits,
)


def test_an_address_has_a_limited_number_of_connections():
    limits = AddressLimits()
    for _ in range(PER_ADDRESS):
        assert limits.admit("192.0.2.1") == ""
        limits.sign_in("192.0.2.1")
    assert limits.admit("192.0.2.1") != ""
    assert limits.admit("::ffff:192.0.2.1") != ""
    assert limits.admit("192.0.2.2") == ""
    limits.leave("192.0.2.1", signed_in=True)
    assert limits.admit("192.0.2.1") == ""


def test_a_network_of_an_ipv6_customer_counts_as_one_address():
    limits = AddressLimits()
    for number in range(PER_ADDRESS):
        assert limits.admit(f"2001:db8::{number:x}") == ""
        limits.sign_in(f"2001:db8::{number:x}")
    assert limits.admit("2001:db8::ffff%eth0") != ""
    assert limits.admit("2001:db8:0:1::1") == ""


def test_those_who_do_not_sign_in_do_not_keep_others_out():
    limits = AddressLimits()
    for number in range(UNAUTHENTICATED):
        assert limits.admit(f"192.0.2.{number}") == ""
    assert limits.admit("198.51.100.1") != ""
    limits.sign_in("192.0.2.1")
    assert limits.admit("198.51.100.1") == ""


def test_an_address_has_few_connections_that_have_not_signed_in():
    limits = AddressLimits()
    for _ in range(UNAUTHENTICATED_PER_ADDRESS):
        assert limits.admit("192.0.2.1") == ""
    assert limits.admit("192.0.2.1") != ""
    assert limits.admit("192.0.2.2") == ""
    limits.sign_in("192.0.2.1")
    assert limits.admit("192.0.2.1") == ""


def test_an_address_does_not_connect_faster_than_people_do():
    time = [0.0]
    limits = AddressLimits(lambda: time[0])
    for _ in range(CONNECTIONS_AT_ONCE):
        assert limits.admit("192.0.2.1") == ""
        limits.leave("192.0.2.1", signed_in=False)
    assert limits.admit("192.0.2.1") == "too many new connections of the address"
    assert limits.admit("192.0.2.2") == ""
    time[0] = 1.0
    assert limits.admit("192.0.2.1") == ""


def test_an_address_that_fails_too_often_is_refused_for_a_while():
    time = [0.0]
    limits = AddressLimits(lambda: time[0])
    for _ in range(FAILURES - 1):
        limits.note_failure("192.0.2.1")
    assert limits.admit("192.0.2.1") == ""
    limits.note_failure("192.0.2.1")
    assert limits.admit("192.0.2.1") == "too many failures"
    assert limits.admit("192.0.2.2") == ""
    time[0] = FAILURE_SECONDS + 1
    assert limits.admit("192.0.2.1") == ""
