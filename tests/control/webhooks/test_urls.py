"""Endpoint URLs: only unambiguous HTTPS URLs of public hosts are accepted."""

from ipaddress import ip_address

import pytest

from stead.control.http.client_address import parse_networks
from stead.control.webhooks import urls
from stead.shared.address_policy import AddressPolicy, is_public
from tests.client import code_of
from tests.outbox import Outbox

VALID = {
    "https://example.com": "https://example.com/",
    "https://example.com/": "https://example.com/",
    "HTTPS://EXAMPLE.com/Path": "https://example.com/Path",
    "https://example.com:443/x": "https://example.com/x",
    "https://example.com:8443/x": "https://example.com:8443/x",
    "https://example.com?x=1": "https://example.com/?x=1",
    "https://example.com./x": "https://example.com/x",
    "https://bücher.example/x": "https://xn--bcher-kva.example/x",
    "https://example.com/%7Eme/a;b=c?d=e&f=@g": "https://example.com/%7Eme/a;b=c?d=e&f=@g",
    "https://8.8.8.8/x": "https://8.8.8.8/x",
    "https://[2606:4700:4700::1111]:8443/x": "https://[2606:4700:4700::1111]:8443/x",
}
MALFORMED = [
    *("", "x", "//example.com", "/x", "example.com", "https://", "https:///x", "https:example.com"),
    *("http://example.com/", "ftp://example.com/", "unix:///run/x.sock", "file:///etc/passwd"),
    *("https+unix://%2Frun%2Fx.sock/", "https://unix:/run/x.sock", "gopher://example.com/"),
    *(
        "https://example.com:80/",
        "https://example.com:22/",
        "https://example.com:0/",
        "https://example.com:/",
    ),
    *("https://example.com:443:443/", "https://example.com:4 43/", "https://example.com:99999/"),
    *("https://user@example.com/", "https://user:password@example.com/", "https://example.com@10.0.0.1/"),
    *("https://example.com:443@10.0.0.1/", "https://example.com%40evil.example/", "https://@example.com/"),
    *("https://example.com\\@10.0.0.1/", "https://example.com\\.evil.example/", "https:\\\\example.com/"),
    *("https://example.com#@10.0.0.1/", "https://example.com/#x", "https://example.com/ x"),
    *(
        "https://example.com/\r\nX: y",
        "https://example.com/\n",
        " https://example.com/",
        "https://exa mple.com/",
    ),
    *(
        "https://example.com\t/",
        "https://example.com/ü",
        "https://example.com/<x>",
        "https://example.com/{x}",
    ),
    *("https://localhost/", "https://x/", "https://.example.com/", "https://example..com/"),
    *("https://-example.com/", "https://exa_mple.com/", "https://example.123/", "https://%31%30.0.0.1/"),
    *("https://127.1/", "https://0177.0.0.1/", "https://0x7f.0.0.1/", "https://0x7f000001/"),
    *("https://2130706433/", "https://017700000001/", "https://127.0.0.1.1/", "https://127.0.0.01/"),
    *(
        "https://１２７.0.0.1/",
        "https://127。0。0。1/",
        "https://①②⑦.⓪.⓪.①/",
        "https://127.0.0.1%00.example.com/",
    ),
    *("https://[::1/", "https://::1/", "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[]/"),
    *("https://[::ffff:127.0.0.1.1]/", "https://[1::2::3]/", "https://[example.com]/", "https://[v1.x]/"),
]
PRIVATE = [
    *("127.0.0.1", "127.255.255.254", "0.0.0." + "0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255"),
    *("192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200", "100.127.255.255", "192.0.0.192"),
    *("192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "168.63.129.16"),
    *("224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8", "64:ff9b::7f00:1"),
    *("64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1", "2001:10::1", "2001:20::1", "2001:db8::1"),
    *("2002:7f00:1::", "2002:808:808::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1"),
    *("3fff::1", "5f00::1", "4000::1", "2606:4700::5efe:7f00:1", "2606:4700::200:5efe:7f00:1"),
]
PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "100.63.255.255",
    "100.128.0.1",
    "172.32.0.1",
    "2606:4700:4700::1111",
    "2a00::1",
]


@pytest.mark.parametrize(("url", "normalized"), VALID.items())
def test_a_valid_url_is_normalized(url: str, normalized: str):
    assert urls.parse_target(url).url == normalized
    assert urls.parse_target(normalized).url == normalized


@pytest.mark.parametrize("url", MALFORMED)
def test_an_ambiguous_or_malformed_url_is_refused(url: str):
    with pytest.raises(urls.InvalidUrl):
        urls.parse_target(url)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_not_permitted(address: str):
    assert not is_public(ip_address(address))
    assert not AddressPolicy().permits(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_permitted(address: str):
    assert is_public(ip_address(address))


def test_an_operator_can_permit_private_networks():
    guard = AddressPolicy(parse_networks(["10.1.0.0/16", "fd00:1::/32"]))
    assert guard.permits(ip_address("10.1.2.3"))
    assert guard.permits(ip_address("fd00:1::1"))
    for other in ("10.2.0.1", "127.0.0.1", "::ffff:10.1.2.3", "fd00:2::1"):
        assert not guard.permits(ip_address(other))


def test_the_tables_have_enough_distinct_cases():
    assert len(MALFORMED) + len(PRIVATE) >= 60
    assert len(set(MALFORMED)) == len(MALFORMED)


@pytest.mark.parametrize(
    "url", [*MALFORMED[:40:4], "https://10.0.0.1/", "https://[::1]/", "https://[::ffff:10.0.0.1]/"]
)
async def test_an_endpoint_cannot_be_created_with_or_changed_to_a_bad_url(outbox: Outbox, url: str):
    person = await outbox.person()
    made = await person.session.post("/v1/webhook-endpoints", json={"url": url})
    assert code_of(made) in ("webhook.url_not_allowed", "request.field_invalid")
    assert made.json()["error"]["param"] == "url"
    good = await outbox.endpoint(person, "https://hooks.example.com/")
    path = f"/v1/webhook-endpoints/{good['id']}"
    assert (await person.session.patch(path, json={"url": url})).status_code == 400
    assert (await person.session.get(path)).json()["data"]["url"] == "https://hooks.example.com/"
