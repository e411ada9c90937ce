"""A transfer waits for an object store that is down; an answer that is final is not waited for."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from stead.node import transfer
from stead.node.transfer import StoreUnavailable, TransferFailed
from tests.node.harness import until
from tests.patience import time_limit

Accept = Callable[[], tuple[socket.socket, object]]

CONTENT = b"the layer"
LARGE = bytes(32 << 20)
"""More than fits in the buffers of a connection."""
HANGS_SECONDS = 10.0
"""Much less than a transfer waits for a store that says nothing."""
SILENT = 0
UNAVAILABLE = (SILENT, 500, 502, 503, 504)
FINAL = (301, 403, 404, 413, 501)


class Store:
    """Answers with one status after the other, and records what it was sent. The last status stays; `SILENT`
    closes the connection without an answer."""

    def __init__(self, *statuses: int) -> None:
        self._statuses, self.received = list(statuses), list[bytes]()

    def next_status(self) -> int:
        return self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]

    @contextmanager
    def serve(self) -> Iterator[str]:
        store = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                store.received.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
                if status := store.next_status():
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(CONTENT)))
                    self.end_headers()
                    self.wfile.write(CONTENT)

            def do_PUT(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                return

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}/layer?signature=secret"
            finally:
                server.shutdown()
                thread.join()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a test need not wait for the pauses that ship."""
    monkeypatch.setattr(transfer, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(transfer, "_LONGEST_PAUSE", 0.05)


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    path = tmp_path / "layer"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def downloaded(tmp_path: Path) -> Path:
    return tmp_path / "downloaded"


async def test_an_upload_is_repeated_until_the_store_can_serve_again(layer: Path) -> None:
    store = Store(*UNAVAILABLE, 200)
    with store.serve() as address:
        await transfer.put(layer, address)
    assert store.received == [CONTENT] * (len(UNAVAILABLE) + 1)


async def test_a_download_is_repeated_until_the_store_can_serve_again(downloaded: Path) -> None:
    store = Store(*UNAVAILABLE, 200)
    with store.serve() as address:
        await transfer.get(address, downloaded, max_bytes=100)
    assert len(store.received) == len(UNAVAILABLE) + 1
    assert await asyncio.to_thread(downloaded.read_bytes) == CONTENT


@pytest.mark.parametrize("status", FINAL)
async def test_a_transfer_that_the_store_refuses_fails_at_once(
    status: int, layer: Path, downloaded: Path
) -> None:
    store = Store(status)
    with store.serve() as address:
        for attempt in (transfer.put(layer, address), transfer.get(address, downloaded, max_bytes=100)):
            with pytest.raises(TransferFailed, match=f"answered {status}$") as failed:
                await attempt
            assert not isinstance(failed.value, StoreUnavailable)
    assert len(store.received) == 2


@pytest.mark.parametrize("address", ["nothing://127.0.0.1/layer", "http:///layer", "/layer"])
async def test_an_address_that_cannot_be_valid_fails_at_once(address: str, downloaded: Path) -> None:
    with pytest.raises(TransferFailed) as failed:
        await transfer.get(address, downloaded, max_bytes=100)
    assert not isinstance(failed.value, StoreUnavailable)


async def test_an_outage_that_lasts_too_long_is_an_error_that_does_not_contain_the_address(
    layer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The limit that ships is two minutes.
    monkeypatch.setattr(transfer, "OUTAGE_SECONDS", 0.2)
    store = Store(503)
    with store.serve() as address, pytest.raises(StoreUnavailable) as failed:
        await transfer.put(layer, address)
    assert str(failed.value) == "the object store answered 503"
    assert len(store.received) > 2


async def test_a_transfer_that_waits_can_be_cancelled(layer: Path) -> None:
    store = Store(503)

    async def has_tried() -> bool | None:
        return len(store.received) > 2 or None

    with store.serve() as address:
        sending = asyncio.create_task(transfer.put(layer, address))
        await until(has_tried)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending


@pytest.mark.parametrize("content", [CONTENT, LARGE], ids=["waits for the answer", "sends"])
async def test_an_upload_to_a_store_that_hangs_is_cancelled_at_once(layer: Path, content: bytes) -> None:
    await asyncio.to_thread(layer.write_bytes, content)
    with _hanging_store() as (address, accept):
        sending = asyncio.create_task(transfer.put(layer, address))
        await _cancel_when_connected(sending, accept)


async def test_a_download_from_a_store_that_hangs_is_cancelled_at_once(downloaded: Path) -> None:
    with _hanging_store() as (address, accept):
        receiving = asyncio.create_task(transfer.get(address, downloaded, max_bytes=100))
        await _cancel_when_connected(receiving, accept)
    assert not await asyncio.to_thread(downloaded.exists)


@contextmanager
def _hanging_store() -> Iterator[tuple[str, Accept]]:
    """Accepts connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/layer", server.accept


async def _cancel_when_connected(transferring: "asyncio.Task[None]", accept: Accept) -> None:
    connection, _ = await asyncio.to_thread(accept)
    with connection:
        # The beginning of the request.
        assert await asyncio.to_thread(connection.recv, 1)
        transferring.cancel()
        async with time_limit(HANGS_SECONDS):
            await asyncio.wait({transferring})
    assert transferring.cancelled()
