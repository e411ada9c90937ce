"""Servers and proxies that do not speak HTTP as they should: a clear error, and no connection left open."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from stead_sdk import AsyncStead, errors, types
from stead_sdk._async.jobs import AsyncJobHandle
from tests.clients.callers import FLAVORS, Caller
from tests.patience import time_limit

OK = b"HTTP/1.1 200 OK\r\n"
STREAM = OK + b"Content-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass
class RawServer:
    """Answers each request with the next of these bytes, and then always with the last. `None`: never."""

    answers: list[bytes | None]
    address: str = ""
    heads: list[bytes] = field(default_factory=list)
    open: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if answer is None:
                await reader.read()
            else:
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            self.open -= 1
            writer.close()

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        async with time_limit(20):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.01)


@asynccontextmanager
async def raw_server(*answers: bytes | None) -> AsyncIterator[RawServer]:
    found = RawServer(list(answers))
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.address = "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
    async with server:
        yield found


@pytest.fixture(params=FLAVORS)
def flavor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n1_0\r\n0123456789abcdef\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n",
        OK + b"Content-Length: \xb2\r\n\r\n{}",
        b"HTTP/1.1 \xb2\xb2\xb2 Odd\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n",
        OK + b"Content-Length: 2\r\n\r\n{}",
    ],
)
async def test_what_is_not_http_is_a_connection_error(flavor: str, answer: bytes):
    async with raw_server(answer) as server:
        caller = Caller(flavor, "key", base_url=server.address, max_retries=0, timeout=5)
        with pytest.raises(errors.APIConnectionError):
            await caller.run(lambda client: client.account.get())
        caller.client.close()


async def test_a_line_without_an_end_is_not_collected_for_ever(flavor: str, monkeypatch: pytest.MonkeyPatch):
    package = "_sync" if flavor == "blocking" else "_async"
    monkeypatch.setattr(f"stead_sdk.{package}.connections._LONGEST_LINE", 100_000)
    monkeypatch.setattr(f"stead_sdk.{package}.jobs._MOST_FAILURES", 1)
    async with raw_server(STREAM + b"data: " + b"x" * 1_000_000) as server:
        caller = Caller(flavor, "key", base_url=server.address)
        with pytest.raises(errors.APIConnectionError, match="too long"):
            await caller.run(lambda client: client.jobs.stream("job_1"))


async def test_a_proxy_that_does_not_speak_http_has_sent_nothing(
    flavor: str, monkeypatch: pytest.MonkeyPatch
):
    """So even what may not be repeated is tried again, with the address of a host in brackets."""
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with raw_server(b"garbage\r\n\r\n") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.address)
        monkeypatch.setenv("https_proxy", proxy.address)
        caller = Caller(flavor, "key", base_url="https://[::2]", max_retries=1)
        with pytest.raises(errors.APIConnectionError, match="cannot be reached"):
            await caller.run(lambda client: client.teams.update("team_1", name="new"))
        assert [head.split(b"\r\n")[0] for head in proxy.heads] == [b"CONNECT [::2]:443 HTTP/1.1"] * 2
        await proxy.wait_until(lambda: proxy.open == 0)


async def test_a_request_that_is_cancelled_closes_its_connection(monkeypatch: pytest.MonkeyPatch):
    """Also while the connection is being made: here the proxy does not answer."""
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with raw_server(None) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.address)
        monkeypatch.setenv("https_proxy", proxy.address)
        client = AsyncStead("key", base_url="https://stead.example")
        request = asyncio.create_task(client.account.get())
        await proxy.wait_until(lambda: bool(proxy.heads))
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        await proxy.wait_until(lambda: proxy.open == 0)


async def test_a_key_that_no_header_can_carry_is_refused(flavor: str):
    async with raw_server(OK) as server:
        caller = Caller(flavor, "schlüssel→", base_url=server.address)
        with pytest.raises(errors.ConfigurationError, match="character"):
            await caller.run(lambda client: client.account.get())


async def test_a_final_status_of_a_later_version_ends_the_waiting():
    body = b'{"data": {"id": "job_1", "status": "skipped", "progress": 1, "error": null}}'
    async with raw_server(OK + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)) as server:
        client = AsyncStead("key", base_url=server.address)

        async def read(job: types.Job) -> str:
            return str(job.status)

        handle = AsyncJobHandle(client, types.Job({"id": "job_1"}), read)
        assert await handle.result(timeout=20) == "skipped"
        client.close()


async def test_a_live_stream_says_that_it_is_back_when_it_is(flavor: str):
    """Once, however many attempts it took."""
    event = STREAM + b'data: {"body": "%s"}\n\n'
    refused = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    gone = b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    seen: list[str] = []
    async with raw_server(event % b"one", refused, refused, event % b"two", gone) as server:
        caller = Caller(flavor, "key", base_url=server.address)

        def read(client: object) -> object:
            return _collected(client, seen, flavor)

        with pytest.raises(errors.NotFound):
            await caller.run(read)
    assert seen == ["message", "reconnected", "message"]


def _collected(client: object, seen: list[str], flavor: str) -> object:
    stream = client.insights.follow_logs("site_1")  # type: ignore[attr-defined]
    if flavor == "blocking":
        for event in stream:
            seen.append(event.kind)  # noqa: PERF401 - it ends with an error
        return None

    async def collect() -> None:
        async for event in stream:
            seen.append(event.kind)  # noqa: PERF401 - it ends with an error

    return collect()
