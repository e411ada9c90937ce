"""TLS certificates by name: changed without a reload, and no handshake for unknown names."""

import asyncio
import ssl

import msgspec
import pytest
from cryptography import x509

from stead.dev.supervised_program import LOOPBACK
from stead.edge.certificate import make_self_signed
from stead.protocol.edge_records import RecordLine
from tests.edge.edge_harness import EdgeHarness, status_of, unverified_context
from tests.edge.peers import HttpServer, ReceivedRequest


async def shown(edge: EdgeHarness, name: str, context: ssl.SSLContext | None = None) -> str:
    """The name on the certificate that a visitor gets."""
    _, writer = await asyncio.open_connection(
        LOOPBACK, edge.secure_port, ssl=context or unverified_context(), server_hostname=name
    )
    secure = writer.get_extra_info("ssl_object")
    certificate = x509.load_der_x509_certificate(secure.getpeercert(binary_form=True))
    writer.close()
    return certificate.subject.rfc4514_string()


@pytest.fixture(scope="module")
async def host(edge: EdgeHarness) -> str:
    await edge.site("tls.test", "tls", {"index.html": "secure"}, https=True, hsts=31_536_000)
    await edge.certificate("tls.test")
    return "tls.test"


async def test_each_name_gets_its_own_certificate(edge: EdgeHarness, host: str) -> None:
    await edge.certificate("second.test")
    assert await shown(edge, host) == "CN=tls.test"
    assert await shown(edge, "SECOND.test") == "CN=second.test"


async def test_a_renewed_certificate_is_used_for_the_next_visitor(edge: EdgeHarness) -> None:
    for _ in range(5):
        chain = await edge.certificate("renewed.test")
        fresh = x509.load_pem_x509_certificate(chain).serial_number
        _, writer = await asyncio.open_connection(
            LOOPBACK, edge.secure_port, ssl=unverified_context(), server_hostname="renewed.test"
        )
        secure = writer.get_extra_info("ssl_object")
        assert x509.load_der_x509_certificate(secure.getpeercert(True)).serial_number == fresh
        writer.close()


@pytest.mark.parametrize("name", ["stranger.test", "nobody.invalid"])
async def test_an_unknown_name_gets_no_handshake(edge: EdgeHarness, host: str, name: str) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await shown(edge, name)


async def test_a_deleted_certificate_is_not_used_again(edge: EdgeHarness) -> None:
    await edge.certificate("past.test")
    assert await shown(edge, "past.test") == "CN=past.test"
    await edge.tell("certificate", "past.test", None)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await shown(edge, "past.test")


async def test_a_malformed_certificate_affects_only_its_own_name(edge: EdgeHarness, host: str) -> None:
    await edge.tell("certificate", "broken.test", {"chain": "nonsense", "key": "nonsense"})
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await shown(edge, "broken.test")
    assert await shown(edge, host) == "CN=tls.test"


async def test_plain_http_is_redirected_to_https(edge: EdgeHarness, host: str) -> None:
    answer = await edge.get(host, "/path?a=1")
    assert answer.status_code == 301
    assert answer.headers["location"] == f"https://{host}:{edge.secure_port}/path?a=1"
    assert (await edge.get(host, "/", method="POST")).status_code == 308
    heard = await edge.secure(host)
    assert status_of(heard) == 200
    assert b"Strict-Transport-Security: max-age=31536000" in heard
    assert (await edge.ledgered("/path"))["tls"] == ""


async def test_a_host_other_than_the_name_of_the_handshake_is_misdirected(
    edge: EdgeHarness, host: str
) -> None:
    await edge.site("plain.test", "plain", {"index.html": "plain"})
    heard = await edge.secure("plain.test", sni=host)
    assert status_of(heard) == 421
    assert b"X-Stead-Reason: misdirected" in heard


@pytest.mark.parametrize(
    ("version", "works"),
    [(ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)],
)
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1:DeprecationWarning")
async def test_old_protocols_are_refused(
    edge: EdgeHarness, host: str, version: ssl.TLSVersion, works: bool
) -> None:
    context = unverified_context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    if works:
        assert await shown(edge, host, context) == "CN=tls.test"
    else:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await shown(edge, host, context)


async def test_http_2_is_offered(edge: EdgeHarness, host: str) -> None:
    context = unverified_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    _, writer = await asyncio.open_connection(LOOPBACK, edge.secure_port, ssl=context, server_hostname=host)
    assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2"
    writer.close()


async def test_an_unknown_certificate_is_looked_up_in_the_store(edge: EdgeHarness) -> None:
    chain, key = make_self_signed("stored.test")
    line = RecordLine("certificate", "stored.test", 1, {"chain": chain.decode(), "key": key.decode()})

    def reply(asked: ReceivedRequest) -> tuple[int, bytes]:
        return (200, msgspec.json.encode(line)) if asked.path == "/certificate/stored.test" else (404, b"")

    store = HttpServer(edge.run / "store.sock", reply)
    await store.start()
    try:
        assert await shown(edge, "stored.test") == "CN=stored.test"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await shown(edge, "unstored.test")
    finally:
        await store.stop()
    assert await shown(edge, "stored.test") == "CN=stored.test"


async def test_a_certificate_from_a_busy_node_is_waited_for(edge: EdgeHarness) -> None:
    chain, key = make_self_signed("slow.test")
    line = RecordLine("certificate", "slow.test", 1, {"chain": chain.decode(), "key": key.decode()})
    store = HttpServer(edge.run / "store.sock", lambda _: (200, msgspec.json.encode(line)), delay=0.4)
    await store.start()
    try:
        assert await shown(edge, "slow.test") == "CN=slow.test"
    finally:
        await store.stop()
