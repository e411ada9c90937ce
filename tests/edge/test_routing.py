"""Which environment answers for a host, and the page for hosts without one."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
import pytest

from stead.dev.supervised_program import LOOPBACK
from stead.edge.ledger import nginx_processes
from stead.edge.leftovers import processes_with_open
from stead.node.functions.sandbox.exchange import CPU, MEMORY, refuse
from stead.protocol.edge_records import (
    ChallengeRecord,
    EdgeRedirect,
    FunctionRoute,
    HostRecord,
    PeerRecord,
    RecordLine,
    RedirectSet,
    RedirectsRecord,
)
from tests.edge.edge_harness import EdgeHarness, start_edge, status_of
from tests.edge.hop import sign
from tests.edge.peers import HttpServer, ReceivedRequest
from tests.patience import time_limit


async def test_an_unknown_host_gets_a_404(edge: EdgeHarness) -> None:
    await edge.admin.complete()
    answer = await edge.get("nobody.test")
    assert (answer.status_code, answer.headers["x-stead-reason"]) == (404, "unknown_host")


@pytest.mark.parametrize(
    ("fields", "code", "reason"),
    [
        ({"state": "suspended", "reason": "unpaid"}, 503, "suspended; unpaid"),
        ({"state": "unreleased"}, 503, "unreleased"),
        ({"allowed_ips": ["192.0.2.0/24", "2001:db8::/32"]}, 403, "not_allowed"),
        ({"allowed_ips": ["192.0.2.0/24", "127.0.0.0/8"]}, 200, None),
        ({"node": "node-z"}, 502, "node_unreachable; the node that carries it is not known"),
        ({"release": "../../etc"}, 503, "unreleased; the release has no proper name"),
    ],
)
async def test_every_state_has_its_page(
    edge: EdgeHarness, fields: dict[str, object], code: int, reason: str | None
) -> None:
    edge.release("rel-states", {"index.html": "serving"})
    await edge.site("states.test", "states", None, **({"release": "rel-states"} | fields))
    answer = await edge.get("states.test")
    assert (answer.status_code, answer.headers.get("x-stead-reason")) == (code, reason)


async def test_a_deleted_host_is_not_restored_by_an_older_record(
    edge: EdgeHarness,
) -> None:
    await edge.site("gone.test", "gone", {"index.html": "here"})
    old = edge.line("host", "gone.test", HostRecord("env_gone"))
    assert (await edge.get("gone.test")).status_code == 200
    await edge.tell("host", "gone.test", None)
    assert (await edge.get("gone.test")).status_code == 404
    await edge.admin.apply([old])
    assert (await edge.get("gone.test")).status_code == 404
    await edge.tell("host", "gone.test", HostRecord("env_gone"))
    assert (await edge.get("gone.test")).status_code == 200


async def test_redirects_come_before_files_and_the_longest_prefix_wins(edge: EdgeHarness) -> None:
    rules = (
        EdgeRedirect("/old", "/new", 301),
        EdgeRedirect("/blog/*", "/news/*", 302),
        EdgeRedirect("/blog/2020/*", "https://archive.example/*", 308),
        EdgeRedirect("/all/*", "/", 307),
        EdgeRedirect("/café", "/coffee", 301),
    )
    await edge.site("redirects.test", "redirects", {"old": "file"}, redirects=RedirectSet("v1", (11, 6, 5)))
    await edge.tell("redirects", "site_redirects.0", RedirectsRecord("v1", rules))
    for path, code, location in (
        ("/old", 301, "/new"),
        ("/old?x=1", 301, "/new?x=1"),
        ("/blog/a/b?c", 302, "/news/a/b?c"),
        ("/blog/2020/x%20y", 308, "https://archive.example/x%20y"),
        ("/all/of/it", 307, "/"),
        ("/caf%C3%A9", 301, "/coffee"),
        ("/blog//evil.example", 302, "/news/evil.example"),
    ):
        answer = await edge.get("redirects.test", path)
        assert (answer.status_code, answer.headers.get("location")) == (code, location), path
    assert (await edge.get("redirects.test", "/blog")).status_code == 404


async def test_new_redirects_are_active_once_the_environment_names_their_version(edge: EdgeHarness) -> None:
    await edge.site("versions.test", "versions", {"index.html": ""}, redirects=RedirectSet("v1"))
    await edge.tell("redirects", "site_versions.0", RedirectsRecord("v1", (EdgeRedirect("/a", "/one", 301),)))
    await edge.tell("redirects", "site_versions.0", RedirectsRecord("v2", (EdgeRedirect("/a", "/two", 301),)))
    assert (await edge.get("versions.test", "/a")).headers["location"] == "/one"
    await edge.environment("versions", release="rel-versions", redirects=RedirectSet("v2"))
    assert (await edge.get("versions.test", "/a")).headers["location"] == "/two"
    await edge.environment("versions", release="rel-versions")
    assert (await edge.get("versions.test", "/a")).status_code == 404


async def test_a_challenge_is_answered_for_its_host_only(edge: EdgeHarness) -> None:
    await edge.site("acme.test", "acme", {"index.html": ""}, https=True)
    await edge.tell("challenge", "tok-en_1", ChallengeRecord("acme.test", "tok-en_1.thumb"))
    path = "/.well-known/acme-challenge/tok-en_1"
    answer = await edge.get("acme.test", path)
    assert (answer.status_code, answer.text) == (200, "tok-en_1.thumb")
    assert (await edge.get("other.test", path)).status_code == 404
    await edge.tell("challenge", "tok-en_1", None)
    assert (await edge.get("acme.test", path)).status_code == 404


def _routes(*pairs: tuple[str, str], rate: int = 1000) -> tuple[FunctionRoute, ...]:
    return tuple(FunctionRoute(path, f"fnv_{version}", rate, 1000) for path, version in pairs)


@asynccontextmanager
async def _function(edge: EdgeHarness, version: str) -> AsyncIterator[HttpServer]:
    (edge.data / "fn").mkdir(mode=0o755, exist_ok=True)
    server = HttpServer(edge.data / "fn" / version, lambda asked: (200, f"{version} {asked.path}".encode()))
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def test_functions_receive_their_requests_without_headers_of_the_platform(edge: EdgeHarness) -> None:
    routes = _routes(("/api/deep", "b"), ("/_fn/hello", "a"), ("/api", "a"))
    await edge.site("wasm.test", "wasm", {"index.html": "static"}, runtime="wasm", functions=routes)
    forged = {"x-stead-environment": "env_other", "x-stead-depth": "1", "x-stead-left": "1"}
    async with _function(edge, "a") as first, _function(edge, "b"):
        assert (await edge.get("wasm.test", "/_fn/hello?a=1", headers=forged)).text == "a /_fn/hello?a=1"
        assert (await edge.get("wasm.test", "/")).text == "static"
        assert (await edge.get("wasm.test", "/api/deep/er")).text == "b /api/deep/er"
        answer = await edge.get("wasm.test", "/api/", method="POST", content=b"body")
        assert (answer.status_code, first.seen[-1].body) == (200, b"body")
        assert len(first.seen) == 2
        assert not [name for asked in first.seen for name in asked.headers if name.startswith("x-stead")]
        assert first.seen[0].headers["host"] == "wasm.test"
        assert answer.headers["x-trace-id"] == first.seen[1].headers["traceparent"].split("-")[1]
        assert (await edge.get("wasm.test", "/apiary")).status_code == 404
        assert (await edge.get("wasm.test", "/_fn/other")).status_code == 404
        large = await edge.get("wasm.test", "/api", method="POST", content=b"x" * 1001)
        assert large.status_code == 413
    answer = await edge.get("wasm.test", "/api")
    assert (answer.status_code, answer.headers["x-stead-reason"]) == (503, "function_stopped")


async def test_only_sites_with_functions_have_them(edge: EdgeHarness) -> None:
    await edge.site("plain.test", "plain", {"index.html": "static"}, functions=_routes(("/_fn/x", "c")))
    async with _function(edge, "c"):
        assert (await edge.get("plain.test", "/_fn/x")).status_code == 404


async def test_a_function_answers_only_as_often_as_its_owner_allows(edge: EdgeHarness) -> None:
    routes = _routes(("/_fn/slow", "d"), rate=1)
    await edge.site("rate.test", "rate", None, runtime="wasm", functions=routes)
    async with _function(edge, "d"):
        answers = await asyncio.gather(*(edge.get("rate.test", "/_fn/slow") for _ in range(12)))
    refused = [each for each in answers if each.status_code == 429]
    assert refused
    assert refused[0].headers["x-stead-reason"] == "function_rate_limit"


async def test_a_body_of_unknown_size_is_not_collected_without_a_limit(edge: EdgeHarness) -> None:
    """The edge keeps a body until it is complete, and no function takes more than ten megabytes."""

    async def send() -> AsyncIterator[bytes]:
        for _ in range(11):
            yield b"x" * (1 << 20)

    await edge.site("large.test", "large", None, runtime="wasm", functions=_routes(("/_fn/large", "g")))
    async with _function(edge, "g") as function:
        answer = await edge.get("large.test", "/_fn/large", method="POST", content=send())
        assert (answer.status_code, function.seen) == (413, [])


@pytest.mark.parametrize(("functions", "visitors", "most"), [(1, 300, 256), (3, 560, 512)])
async def test_functions_keep_a_limited_number_of_visitors_waiting(
    functions: int, visitors: int, most: int, edge: EdgeHarness
) -> None:
    """Those of one function, and of all functions of a site. Visitors of many addresses would take the
    connections of other sites."""
    routes = [(f"/_fn/{number}", f"h{functions}{number}") for number in range(functions)]
    await edge.site(
        f"wait{functions}.test", f"wait{functions}", None, runtime="wasm", functions=_routes(*routes)
    )
    (edge.data / "fn").mkdir(mode=0o755, exist_ok=True)
    arrived, ended = [0], asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        arrived[0] += 1
        await ended.wait()
        writer.write(b"HTTP/1.1 200 -\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async def visit(number: int) -> bytes:
        own = (f"127.0.0.{2 + number % 6}", 0)
        reader, writer = await asyncio.open_connection(LOOPBACK, edge.port, local_addr=own)
        request = f"GET /_fn/{number % functions} HTTP/1.1\r\nHost: wait{functions}.test\r\n"
        writer.write(f"{request}Connection: close\r\n\r\n".encode())
        received = await reader.read()
        writer.close()
        return received.split(b" ")[1]

    async with AsyncExitStack() as servers:
        for _, version in routes:
            path = edge.data / "fn" / version
            await servers.enter_async_context(await asyncio.start_unix_server(answer, path, backlog=512))
            path.chmod(0o666)
        visits = [asyncio.create_task(visit(number)) for number in range(visitors)]
        async with time_limit(60):
            while sum(each.done() for each in visits) < visitors - most:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert arrived[0] <= most
        ended.set()
        answers = await asyncio.gather(*visits)
    assert answers.count(b"200") == most
    assert answers.count(b"429") == visitors - most


async def test_the_reason_of_a_function_is_shown_on_a_page(edge: EdgeHarness) -> None:
    """A process of a function gives only the reason."""
    await edge.site("trap.test", "trap", None, runtime="wasm", functions=_routes(("/_fn/trap", "e")))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(refuse(503, "function_trap", f"{CPU}: 12.5\r\n{MEMORY}: 30000\r\n"))
        await writer.drain()
        writer.close()

    (edge.data / "fn").mkdir(mode=0o755, exist_ok=True)
    path = edge.data / "fn" / "e"
    server = await asyncio.start_unix_server(answer, path)
    path.chmod(0o666)
    async with server:
        seen = await edge.get("trap.test", "/_fn/trap")
    assert (seen.status_code, seen.headers["x-stead-reason"]) == (503, "function_trap")
    assert "This part of the site broke off." in seen.text
    assert not {"x-stead-cpu", "x-stead-memory"} & seen.headers.keys()
    line = await edge.ledgered("/_fn/trap")
    assert (line["reason"], line["cpu"], line["memory"]) == ("function_trap", "12.5", "30000")


async def test_a_valid_trace_is_continued_and_any_other_is_replaced(edge: EdgeHarness) -> None:
    host = await edge.site("trace.test", "trace", {"index.html": ""})
    mine = "4bf92f3577b34da6a3ce929d0e0e4736"
    for given, kept in (
        (f"00-{mine}-00f067aa0ba902b7-01", True),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", False),
        (f"00-{mine}-{'0' * 16}-01", False),
        (f"00-{mine.upper()}-00f067aa0ba902b7-01", False),
        (f"ff-{mine}-00f067aa0ba902b7-01", False),
        ('"}{"', False),
    ):
        answer = await edge.get(host, headers={"traceparent": given})
        assert (answer.headers["x-trace-id"] == mine) is kept
        assert len(answer.headers["x-trace-id"]) == 32


def lines(*records: RecordLine) -> bytes:
    return b"\n".join(map(msgspec.json.encode, records))


async def test_an_unknown_host_is_looked_up_in_the_store() -> None:
    async with start_edge() as fresh:
        fresh.release("rel-late", {"index.html": "late"})
        known = lines(
            RecordLine("host", "late.test", 1, {"environment": "env_late"}),
            RecordLine(
                "environment",
                "env_late",
                2,
                {"site": "site_late", "node": fresh.node, "release": "rel-late"},
            ),
        )

        def reply(asked: ReceivedRequest) -> tuple[int, bytes]:
            return (200, known) if asked.path == "/host/late.test" else (404, b"")

        answer = await fresh.get("late.test")
        assert (answer.status_code, answer.headers["x-stead-reason"]) == (503, "starting")
        await asyncio.sleep(1.1)
        store = HttpServer(fresh.run / "store.sock", reply)
        await store.start()
        try:
            assert (await fresh.get("late.test")).text == "late"
            assert (await fresh.get("late.test")).text == "late"
            assert [asked.path for asked in store.seen] == ["/host/late.test"]
            began = time.monotonic()
            for _ in range(5):
                assert (await fresh.get("never.test")).status_code == 404
            # The edge remembers for a second that a host is unknown.
            assert len(store.seen) <= 3 + (time.monotonic() - began)
            await asyncio.gather(*(fresh.get(f"random{n}.test") for n in range(60)))
        finally:
            await store.stop()
        await fresh.admin.complete()
        assert (await fresh.get("another.test")).status_code == 404
        assert (await fresh.get("late.test")).text == "late"


async def test_a_silent_store_delays_a_visitor_only_a_little(edge: EdgeHarness) -> None:
    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(20)
        writer.close()

    path = edge.run / "store.sock"
    server = await asyncio.start_unix_server(silent, path)
    path.chmod(0o666)
    try:
        began = asyncio.get_running_loop().time()
        assert (await edge.get("silent.test")).status_code in {404, 503}
        assert asyncio.get_running_loop().time() - began < 5
    finally:
        server.close()
        path.unlink()


async def test_a_site_of_another_node_is_forwarded_once() -> None:
    async with start_edge("node-a") as a, start_edge("node-b") as b:
        for here, there in ((a, b), (b, a)):
            await here.admin.set_hop_keys([bytes(32)])
            await here.tell("node", there.node, PeerRecord(f"127.0.0.1:{there.port}"))
            await here.site("far.test", "far", None, node="node-b", release="rel-far")
            await here.site("lost.test", "lost", None, node=there.node)
        b.release("rel-far", {"index.html": "from b"})
        answer = await a.get("far.test")
        assert (answer.status_code, answer.text) == (200, "from b")
        answer = await a.get("lost.test")
        assert (answer.status_code, answer.headers["x-stead-reason"].split(";")[0]) == (508, "loop")

        # The address of the visitor decides, as reported by the other edge.
        await b.environment("far", node="node-b", release="rel-far", allowed_ips=["192.0.2.7"])
        assert (await a.get("far.test")).status_code == 403
        said = {"x-stead-hop": "1", "x-stead-visitor": "192.0.2.7", "x-stead-scheme": "http"}
        assert (await b.get("far.test", headers=said)).status_code == 403
        signed = said | {"x-stead-signature": sign(bytes(32), b.node, "far.test", "/", "192.0.2.7")}
        assert (await b.get("far.test", headers=signed)).status_code == 200
        assert (await a.get("far.test", headers=said)).status_code == 508
        assert (await a.get("far.test", headers={"x-stead-visitor": "192.0.2.7"})).status_code == 403

        # A visitor who reached the first edge over TLS is not redirected to HTTPS by the second.
        await a.certificate("far.test")
        for each in (a, b):
            await each.environment("far", node="node-b", release="rel-far", hsts=600, noindex=True)
            await each.tell("host", "far.test", HostRecord("env_far", https=True))
        heard = await a.secure("far.test")
        assert status_of(heard) == 200
        assert heard.count(b"Strict-Transport-Security: max-age=600") == 1
        assert heard.count(b"X-Robots-Tag: noindex, nofollow") == 1
        assert (await a.get("far.test")).headers["location"].startswith("https://far.test")

        await b.stop()
        answer = await a.get("lost.test")
        assert answer.headers["x-stead-reason"] == "node_unreachable"


async def test_search_engines_are_asked_not_to_show_copies(edge: EdgeHarness) -> None:
    await edge.site("copy.test", "copy", {"index.html": "", "a.css": ""}, noindex=True)
    await edge.site("first.test", "first", {"index.html": ""})
    for path, status in (("/", 200), ("/a.css", 200), ("/missing", 404)):
        answer = await edge.get("copy.test", path)
        assert (answer.status_code, answer.headers["x-robots-tag"]) == (status, "noindex, nofollow")
    assert "x-robots-tag" not in (await edge.get("first.test")).headers


async def test_headers_of_unknown_peers_are_ignored(edge: EdgeHarness) -> None:
    await edge.tell("node", "node-c", PeerRecord("127.0.0.9:80"))
    await edge.site("guarded.test", "guarded", {"index.html": ""}, allowed_ips=["192.0.2.7"])
    said = {"x-stead-hop": "1", "x-stead-visitor": "192.0.2.7", "x-forwarded-for": "192.0.2.7"}
    assert (await edge.get("guarded.test", headers=said)).status_code == 403


async def test_a_reload_and_a_killed_worker_keep_the_records_and_a_restart_loses_them() -> None:
    async with start_edge() as fresh:
        await fresh.site("kept.test", "kept", {"index.html": "kept"})
        before = await fresh.admin.state()
        first = set(fresh.workers)
        fresh_pid = fresh.pid
        os.kill(fresh_pid, signal.SIGHUP)
        await _until(lambda: first.isdisjoint(fresh.workers) and len(fresh.workers) == 2)
        assert (await fresh.get("kept.test")).text == "kept"
        victim = fresh.workers[0]
        os.kill(victim, signal.SIGKILL)
        await _until(lambda: victim not in fresh.workers and len(fresh.workers) == 2)
        assert (await fresh.get("kept.test")).text == "kept"
        after = await fresh.admin.state()
        assert (after.instance, after.revision, after.hosts) == (before.instance, before.revision, 1)
        await fresh.stop()
        await fresh.start()
        again = await fresh.admin.state()
        assert again.instance != before.instance
        assert (again.revision, again.hosts, again.complete) == (0, 0, False)
        assert (await fresh.get("kept.test")).status_code == 503


async def test_no_process_holds_the_port_after_the_master_was_killed() -> None:
    async with start_edge() as fresh:
        await fresh.site("kept.test", "kept", {"index.html": "kept"})
        before = await fresh.admin.state()
        await fresh.stop(signal.SIGKILL)
        await _until(lambda: not processes_with_open(fresh.ledger))
        await fresh.start()
        assert (await fresh.admin.state()).instance != before.instance
        # A process that was forked a moment ago may not be listed with its files yet.
        await _until(lambda: set(processes_with_open(fresh.ledger)) == set(nginx_processes(fresh.pid)))
        await fresh.site("kept.test", "kept", {"index.html": "kept"})
        assert (await fresh.get("kept.test")).text == "kept"


async def test_a_host_may_redirect_all_visitors_to_another_host_of_the_site(edge: EdgeHarness) -> None:
    await edge.site("primary.test", "primary", {"index.html": "primary"})
    await edge.tell("host", "www.primary.test", HostRecord("env_primary", redirect_to="primary.test"))
    answer = await edge.get("www.primary.test", "/a%20b?c=1")
    assert (answer.status_code, answer.headers["location"]) == (301, "http://primary.test/a%20b?c=1")
    posted = await edge.get("www.primary.test:8080", "/", method="POST")
    assert (posted.status_code, posted.headers["location"]) == (308, "http://primary.test:8080/")
    assert (await edge.get("primary.test")).text == "primary"
    await edge.tell("host", "www.primary.test", HostRecord("env_primary"))
    assert (await edge.get("www.primary.test")).text == "primary"


async def test_a_host_with_a_certificate_redirects_to_https_before_another_host(edge: EdgeHarness) -> None:
    await edge.site("primary.test", "primary", {"index.html": "primary"})
    record = HostRecord("env_primary", https=True, redirect_to="primary.test")
    await edge.tell("host", "www.primary.test", record)
    await edge.certificate("www.primary.test")
    plain = await edge.get("www.primary.test", "/page")
    assert plain.headers["location"] == f"https://www.primary.test:{edge.secure_port}/page"
    assert b"location: https://primary.test" in (await edge.secure("www.primary.test")).lower()


async def _until(condition: Callable[[], bool]) -> None:
    async with time_limit(10):
        while not condition():  # noqa: ASYNC110 - processes announce nothing
            await asyncio.sleep(0.05)
