"""Attacks on the edge: no visitor reaches another tenant, leaves a release or poisons a page.

`attacker.test` and `victim.test` are two tenants on one edge. Only the victim's own pages contain SECRET, and
OUTSIDE is in files next to the releases.
"""

import asyncio
import contextlib
import json
import os
import socket
import ssl
import struct
import time

import pytest

from stead.dev.supervised_program import LOOPBACK
from stead.protocol.edge_records import PeerRecord
from tests.edge.edge_harness import EdgeHarness, status_of, unverified_context
from tests.edge.fastcgi import Application, Reply, Request
from tests.patience import slowdown, time_limit

SECRET = b"victims-own-page"
OUTSIDE = b"outside-every-release"
REFUSED = {0, 400, 404, 405, 408, 411, 413, 414, 421, 431, 494, 501, 503, 505}


@pytest.fixture(scope="module")
async def tenants(edge: EdgeHarness) -> EdgeHarness:
    (edge.data / "releases").mkdir(exist_ok=True)
    (edge.data / "releases" / "outside.txt").write_bytes(OUTSIDE)
    (edge.data / "outside.txt").write_bytes(OUTSIDE)
    await edge.site("attacker.test", "attacker", {"index.html": "attackers page", "sub/page.html": "sub"})
    await edge.site("victim.test", "victim", {"index.html": SECRET, "secret.txt": SECRET, ".env": SECRET})
    await edge.site(
        "closed.test", "closed", {"index.html": SECRET}, allowed_ips=["192.0.2.1", "2001:db8::/32"]
    )
    await edge.tell("node", "node-peer", PeerRecord("127.0.0.9:80"))
    await edge.admin.complete()
    return edge


def get(target: str, *headers: str, host: str | None = "attacker.test", version: str = "1.1") -> bytes:
    lines = [f"GET {target} HTTP/{version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += [*headers, "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1")


HOST_TRICKS = {
    "no host": get("/", host=None),
    "empty host": get("/", host=""),
    "two hosts": get("/", "Host: victim.test"),
    "two hosts, other first": get("/", "Host: attacker.test", host="victim.test"),
    "host with path": get("/", host="attacker.test/../victim.test"),
    "host with dots": get("/", host="../releases/rel-victim"),
    "host with user": get("/", host="victim.test@attacker.test"),
    "host with null": get("/", host="attacker.test\0.victim.test"),
    "host with tab": get("/", host="attacker.test\tvictim.test"),
    "host with comma": get("/", host="attacker.test, victim.test"),
    "folded host": b"GET / HTTP/1.1\r\nHost: attacker.test\r\n victim.test\r\nConnection: close\r\n\r\n",
    "space before colon": b"GET / HTTP/1.1\r\nHost : victim.test\r\nConnection: close\r\n\r\n",
    "very long host": get("/", host="a" * 5000 + ".test"),
    "percent host": get("/", host="victim%2etest"),
    "host in brackets": get("/", host="[::1"),
    "host with newline": get("/", host="attacker.test\nHost: victim.test"),
    "record key as host": get("/", host="e:env_victim"),
    "environment as host": get("/", host="env_victim"),
    "http 1.0 without host": get("/", host=None, version="1.0"),
}

TRAVERSALS = [
    "/../outside.txt",
    "/../../outside.txt",
    "/..%2foutside.txt",
    "/%2e%2e/outside.txt",
    "/%2e%2e%2foutside.txt",
    "/%252e%252e%252foutside.txt",
    "/sub/../../outside.txt",
    "/sub/..%5c..%5coutside.txt",
    "/sub/%c0%ae%c0%ae/outside.txt",
    "/sub/....//....//outside.txt",
    "/./.././outside.txt",
    "/..;/outside.txt",
    "//../outside.txt",
    "/../rel-victim/secret.txt",
    "/%2e%2e/rel-victim/secret.txt",
    "/sub/%2e%2e/%2e%2e/rel-victim/index",
    "/../../../../../../etc/passwd",
    "/index.html%00.txt",
    "/%00",
    "/sub%2f..%2f..%2frel-victim%2fsecret.txt",
    "/\\..\\outside.txt",
    "/rel-victim/secret.txt",
    "/releases/rel-victim/secret.txt",
    "/.git/config",
    "/%2egit/config",
    "/.well-known/../.env",
    "/.well-known/%2e%2e/%2e%2e/outside.txt",
    "/.well-known/acme-challenge/../../../outside.txt",
]

POST = b"POST / HTTP/1.1\r\nHost: attacker.test\r\n"
CODING = b"Transfer-Encoding: chunked\r\n"

FRAMINGS = {
    "both lengths": POST + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
    "two lengths": POST + b"Content-Length: 5\r\nContent-Length: 0\r\n\r\nhello",
    "length with sign": POST + b"Content-Length: +5\r\n\r\nhello",
    "negative length": POST + b"Content-Length: -1\r\n\r\n",
    "hexadecimal length": POST + b"Content-Length: 0x5\r\n\r\nhello",
    "list of lengths": POST + b"Content-Length: 5, 5\r\n\r\nhello",
    "unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "coding with a tail": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "two codings": POST + CODING + b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "coding in 1.0": b"POST / HTTP/1.0\r\nHost: attacker.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunk too large": POST + CODING + b"\r\nffffffffffffffff\r\nx",
    "chunk of nonsense": POST + CODING + b"\r\nzz\r\nx\r\n0\r\n\r\n",
    "space in the name": POST + b"Transfer-Encoding : chunked\r\nContent-Length: 3\r\n\r\nabc",
    "bare line feed": b"GET / HTTP/1.1\nHost: attacker.test\nX: y\rHost: victim.test\n\n",
    "no version": b"GET /\r\n\r\n",
    "version 9": b"GET / HTTP/9.0\r\nHost: attacker.test\r\n\r\n",
    "nonsense": b"\x16\x03\x01\x02\x00\x01\x00" + os.urandom(64) + b"\r\n\r\n",
    "http 2 without tls": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),
    "connect": b"CONNECT victim.test:80 HTTP/1.1\r\nHost: attacker.test\r\n\r\n",
    "trace": b"TRACE / HTTP/1.1\r\nHost: attacker.test\r\n\r\n",
    "asterisk": b"OPTIONS * HTTP/1.1\r\nHost: attacker.test\r\n\r\n",
    "huge header": get("/", "X-Huge: " + "h" * 70_000),
    "many headers": get("/", *(f"X-{n}: {'v' * 200}" for n in range(500))),
    "huge target": get("/" + "a" * 70_000),
}

FORGED = {
    "visitor": ("X-Stead-Visitor: 192.0.2.1",),
    "hop and visitor": ("X-Stead-Hop: 1", "X-Stead-Visitor: 192.0.2.1"),
    "forwarded for": ("X-Forwarded-For: 192.0.2.1", "X-Real-IP: 192.0.2.1"),
    "forwarded": ("Forwarded: for=192.0.2.1;host=victim.test",),
    "client ip": ("X-Client-IP: 192.0.2.1", "True-Client-IP: 192.0.2.1", "CF-Connecting-IP: 192.0.2.1"),
    "underscores": ("X_Stead_Hop: 1", "X_Stead_Visitor: 192.0.2.1"),
}


async def assert_tenants_are_served(edge: EdgeHarness) -> None:
    """The next visitors are served as before."""
    assert (await edge.get("attacker.test")).text == "attackers page"
    assert (await edge.get("victim.test")).content == SECRET


@pytest.mark.parametrize("trick", HOST_TRICKS)
async def test_no_host_header_reaches_another_tenant(tenants: EdgeHarness, trick: str) -> None:
    response = await tenants.raw(HOST_TRICKS[trick])
    assert SECRET not in response
    assert status_of(response) in REFUSED
    await assert_tenants_are_served(tenants)


async def test_the_request_target_takes_precedence_over_the_host_header(tenants: EdgeHarness) -> None:
    """The standard requires this, so no cache or filter in front of the edge may decide otherwise."""
    response = await tenants.raw(get("http://attacker.test/", host="victim.test"))
    assert (status_of(response), b"attackers page" in response, SECRET in response) == (200, True, False)
    response = await tenants.raw(get("http://victim.test/../rel-attacker/", host="attacker.test"))
    assert b"attackers page" not in response


@pytest.mark.parametrize(
    "host", ["ATTACKER.test", "attacker.test.", "attacker.test:80", "attacker.TEST.:8080"]
)
async def test_other_spellings_of_a_host_reach_the_same_tenant(tenants: EdgeHarness, host: str) -> None:
    response = await tenants.raw(get("/", host=host))
    assert (status_of(response), SECRET in response) == (200, False)


@pytest.mark.parametrize("target", TRAVERSALS)
async def test_no_path_leaves_its_release(tenants: EdgeHarness, target: str) -> None:
    response = await tenants.raw(get(target))
    assert not any(word in response for word in (SECRET, OUTSIDE, b"root:"))
    assert status_of(response) in REFUSED | {301}
    if status_of(response) == 301:
        location = response.split(b"Location: ")[1].split(b"\r\n")[0]
        assert location.startswith(b"/")
        assert not location.startswith(b"//")


@pytest.mark.parametrize("shape", FRAMINGS)
async def test_no_framing_hides_a_second_request(tenants: EdgeHarness, shape: str) -> None:
    """A refused request closes the connection, so the data after it is not read as a request."""
    smuggled = b"GET / HTTP/1.1\r\nHost: victim.test\r\n\r\n"
    response = await tenants.raw(FRAMINGS[shape], patience=2.0)
    assert SECRET not in response
    assert status_of(response) in REFUSED | {200}
    response = await tenants.raw(FRAMINGS[shape] + smuggled, patience=2.0)
    assert response.count(b"HTTP/1.1 200") <= 1
    await assert_tenants_are_served(tenants)


@pytest.mark.parametrize("forgery", FORGED)
async def test_a_forged_client_address_grants_no_access(tenants: EdgeHarness, forgery: str) -> None:
    response = await tenants.raw(get("/", *FORGED[forgery], host="closed.test"))
    assert (status_of(response), SECRET in response) == (403, False)


@pytest.mark.parametrize("forgery", [*FORGED, "internal"])
async def test_an_application_receives_only_the_headers_of_the_edge(
    tenants: EdgeHarness, application: Application, forgery: str
) -> None:
    headers = FORGED.get(
        forgery,
        (
            "X-Stead-Environment: env_victim",
            "X-Stead-Site: site_victim",
            "X-Stead-Key: x 0 env_victim",
            "X-Stead-Scheme: https",
            "X-Forwarded-Host: victim.test",
            "X-Original-URL: /admin",
            "Proxy: http://evil.example",
        ),
    )
    application.handler = _echo
    response = await tenants.raw(get("/echo", *headers, "Cookie: session=1", host="app.test"))
    params = json.loads(response.partition(b"\r\n\r\n")[2].split(b"\r\n", 1)[-1].rsplit(b"}", 1)[0] + b"}")
    assert params["REMOTE_ADDR"] == params["HTTP_X_FORWARDED_FOR"] == params["HTTP_X_REAL_IP"] == LOOPBACK
    assert params["HTTP_HOST"] == "app.test"
    assert params["SCRIPT_FILENAME"] == "/srv/site/index.php"
    assert params.get("HTTPS", "") == ""
    assert params["HTTP_X_FORWARDED_PROTO"] == "http"
    for name in ("PROXY", "X_FORWARDED_HOST", "X_ORIGINAL_URL", "FORWARDED", "X_CLIENT_IP", "X_STEAD_HOP"):
        assert params.get(f"HTTP_{name}", "") == ""


@pytest.fixture(scope="module")
async def application(tenants: EdgeHarness) -> Application:
    made = await tenants.application("app")
    await tenants.site("app.test", "app", None, runtime="cms", waf="off", cache_ttl=600)
    return made


async def _echo(request: Request) -> Reply:
    return Reply(json.dumps(request.params).encode())


POISONS = {
    "forwarded host": ("/p1", ("X-Forwarded-Host: evil.example",)),
    "original url": ("/p2", ("X-Original-URL: /evil",)),
    "port in host": ("/p3", ()),
    "method override": ("/p4", ("X-HTTP-Method-Override: EVIL",)),
    "tracking parameter": ("/p5?utm_content=evil", ()),
    "fat get": ("/p6", ("Content-Length: 4",)),
    "forwarded scheme": ("/p7", ("X-Forwarded-Scheme: evil",)),
    "range": ("/p8", ("Range: bytes=0-evil",)),
    "any header": ("/p9", ("X-Evil: evil",)),
    "cookie": ("/p10", ("Cookie: _ga=evil",)),
    "trace": ("/p11", ("traceparent: evil",)),
}


@pytest.mark.parametrize("poison", POISONS)
async def test_no_visitor_poisons_a_page_for_others(
    tenants: EdgeHarness, application: Application, poison: str
) -> None:
    """The application is as careless as possible: it returns everything it receives."""
    application.handler = _echo
    target, headers = POISONS[poison]
    host = "app.test:1337" if poison == "port in host" else "app.test"
    body = b"evil" if poison == "fat get" else b""
    await tenants.raw(get(target, *headers, host=host) + body)
    clean = await tenants.get("app.test", target.partition("?")[0])
    assert clean.status_code == 200
    assert "evil" not in clean.text
    assert "1337" not in clean.text


async def test_a_purge_needs_the_admin_socket(tenants: EdgeHarness, application: Application) -> None:
    application.handler = _echo
    first = await tenants.get("app.test", "/kept")
    for method, path in (
        ("PURGE", "/kept"),
        ("BAN", "/kept"),
        ("POST", "/apply"),
        ("POST", "/complete"),
        ("GET", "/state"),
    ):
        response = await tenants.raw(
            f"{method} {path} HTTP/1.1\r\nHost: attacker.test\r\nConnection: close\r\n\r\n".encode()
        )
        assert status_of(response) in REFUSED
        assert b"instance" not in response
    await tenants.raw(b"PURGE /kept HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n")
    again = await tenants.get(
        "app.test", "/kept", headers={"cache-control": "no-cache", "pragma": "no-cache"}
    )
    assert (again.headers["x-cache"], again.text) == ("HIT", first.text)


async def test_tenants_do_not_share_cached_pages(tenants: EdgeHarness, application: Application) -> None:
    """The same path and query on another host return another response."""
    application.handler = _echo
    await tenants.get("app.test", "/shared?x=1")
    response = await tenants.raw(get("/shared?x=1", "X-Stead-Environment: env_app", host="attacker.test"))
    assert (status_of(response), b"REQUEST_URI" in response) == (404, False)


@pytest.mark.parametrize("slow_part", ["header", "body"])
async def test_slow_visitors_do_not_block_others(tenants: EdgeHarness, slow_part: str) -> None:
    head = b"GET / HTTP/1.1\r\nHost: attacker.test\r\n"
    if slow_part == "body":
        head = b"POST /x HTTP/1.1\r\nHost: app.test\r\nContent-Length: 100000\r\n\r\nx"
    connections = [await asyncio.open_connection(LOOPBACK, tenants.port) for _ in range(200)]
    try:
        for _, writer in connections:
            writer.write(head)
        started = time.monotonic()
        await assert_tenants_are_served(tenants)
        assert time.monotonic() - started < 5 * slowdown()
    finally:
        for _, writer in connections:
            writer.close()


async def test_a_slow_header_times_out(tenants: EdgeHarness) -> None:
    reader, writer = await asyncio.open_connection(LOOPBACK, tenants.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: attacker.test\r\nX: ")
    async with time_limit(30):
        with contextlib.suppress(ConnectionResetError):
            assert SECRET not in await reader.read()
    writer.close()


@pytest.mark.parametrize(
    ("sni", "host"), [("attacker.test", "victim.test"), ("attacker.test", "closed.test")]
)
async def test_a_connection_for_one_name_cannot_request_another(
    tenants: EdgeHarness, sni: str, host: str
) -> None:
    await tenants.certificate("attacker.test")
    response = await tenants.secure(host, sni=sni)
    assert (status_of(response), SECRET in response) == (421, False)


async def test_plain_http_on_the_tls_port_is_refused(tenants: EdgeHarness) -> None:
    with socket.create_connection((LOOPBACK, tenants.secure_port), timeout=10) as plain:
        plain.sendall(get("/", host="victim.test"))
        response = plain.recv(65536)
    assert (status_of(response), SECRET in response) == (400, False)


def h2(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


def literal(name: bytes, value: bytes) -> bytes:
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


BASIC = literal(b":method", b"GET") + literal(b":scheme", b"https") + literal(b":path", b"/")
MALFORMED_H2 = {
    "other authority": h2(1, 5, 1, BASIC + literal(b":authority", b"victim.test")),
    "two authorities": h2(
        1, 5, 1, BASIC + literal(b":authority", b"attacker.test") + literal(b":authority", b"victim.test")
    ),
    "authority and another host": h2(
        1, 5, 1, BASIC + literal(b":authority", b"victim.test") + literal(b"host", b"attacker.test")
    ),
    "host beside the authority": h2(
        1, 5, 1, BASIC + literal(b":authority", b"attacker.test") + literal(b"host", b"victim.test")
    ),
    "newline in a value": h2(
        1, 5, 1, BASIC + literal(b":authority", b"attacker.test") + literal(b"x", b"a\r\nhost: victim.test")
    ),
    "path without slash": h2(
        1,
        5,
        1,
        literal(b":method", b"GET")
        + literal(b":scheme", b"https")
        + literal(b":path", b"../rel-victim/secret.txt")
        + literal(b":authority", b"attacker.test"),
    ),
    "absolute path": h2(
        1,
        5,
        1,
        literal(b":method", b"GET")
        + literal(b":scheme", b"https")
        + literal(b":path", b"https://victim.test/")
        + literal(b":authority", b"attacker.test"),
    ),
    "zero stream": h2(1, 5, 0, BASIC),
    "huge window": h2(8, 0, 0, b"\x7f\xff\xff\xff") * 2,
    "many resets": b"".join(
        h2(1, 5, n, BASIC + literal(b":authority", b"attacker.test")) + h2(3, 0, n, bytes(4))
        for n in range(1, 2001, 2)
    ),
}


@pytest.mark.parametrize("case", MALFORMED_H2)
async def test_malformed_http_2_reaches_no_other_tenant(tenants: EdgeHarness, case: str) -> None:
    await tenants.certificate("attacker.test")
    context = unverified_context()
    context.set_alpn_protocols(["h2"])
    reader, writer = await asyncio.open_connection(
        LOOPBACK, tenants.secure_port, ssl=context, server_hostname="attacker.test"
    )
    writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2(4, 0, 0, b"") + MALFORMED_H2[case])
    response = b""
    try:
        async with asyncio.timeout(1.5):
            while part := await reader.read(65536):
                response += part
    except (TimeoutError, ConnectionError, ssl.SSLError):
        pass
    writer.close()
    assert SECRET not in response
    await assert_tenants_are_served(tenants)


async def test_redirects_cannot_point_to_another_site(tenants: EdgeHarness) -> None:
    tenants.release("rel-attacker", {"evil.example/index.html": "x"})
    for target in (
        "//evil.example",
        "/%2f%2fevil.example",
        "/\\evil.example",
        "//evil.example/%0d%0aSet-Cookie:x",
    ):
        response = await tenants.raw(get(target))
        for line in response.split(b"\r\n\r\n")[0].split(b"\r\n"):
            assert not line.lower().startswith(b"set-cookie")
            if line.lower().startswith(b"location: "):
                assert line[10:11] == b"/"
                assert line[11:12] not in {b"/", b"\\"}


async def test_log_lines_cannot_be_injected(tenants: EdgeHarness) -> None:
    agent = 'x","status":999}\\n{"ts":1'
    await tenants.raw(get("/ledger%0a%22injected", f"User-Agent: {agent}", f'X-Trace-Id: "{agent}'))
    line = await tenants.ledgered("/ledger%0a%22injected")
    assert (line["status"], line["agent"]) == (404, agent)


async def test_random_host_names_do_not_flood_the_store(tenants: EdgeHarness) -> None:
    requests = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        requests += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 N\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    path = tenants.run / "store.sock"
    server = await asyncio.start_unix_server(serve, path)
    path.chmod(0o666)
    try:
        started = time.monotonic()
        reader, writer = await asyncio.open_connection(LOOPBACK, tenants.port)
        for number in range(3000):
            writer.write(f"HEAD / HTTP/1.1\r\nHost: r{number}.test\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 404")
        writer.close()
        seconds = time.monotonic() - started
    finally:
        server.close()
        path.unlink()
    assert requests <= 200 * (seconds + 2)
