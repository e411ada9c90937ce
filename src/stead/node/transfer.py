"""Transfers files to and from addresses that the control plane signed: in chunks, with a size limit, and
stopped when cancelled. A transfer waits for an object store that is down, because repeating only the transfer
costs less than repeating the work that needs it."""

import asyncio
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import requests
import structlog

from stead.node.stoppable_connections import StoppableConnections

T = TypeVar("T")

OUTAGE_SECONDS = 120.0
"""How long a transfer waits for an object store that is down. Restarting one takes less."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0
_UNAVAILABLE = frozenset({500, 502, 503, 504})
_BROKEN = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
_CHUNK = 1024 * 1024
_CONNECT_SECONDS, _SILENCE_SECONDS = 10.0, 60.0
_THREADS = ThreadPoolExecutor(max_workers=64, thread_name_prefix="transfer")
"""Not the ones of everything else, which would have to wait while an object store hangs."""

log = structlog.get_logger()


class TransferFailed(Exception):
    """Trying again may help. The message does not contain the address, which is a secret while it is
    valid."""


class StoreUnavailable(TransferFailed):
    """The object store did not answer, or answered that it cannot serve now."""


class TooLarge(Exception):
    """The file is larger than expected."""


async def put(path: Path, address: str) -> None:
    def send(connections: StoppableConnections) -> None:
        with path.open("rb") as file, connections.session() as session:
            size = path.stat().st_size
            response = session.put(
                address,
                data=_SizedChunks(iter(lambda: file.read(_CHUNK), b""), size, connections),
                timeout=(_CONNECT_SECONDS, _SILENCE_SECONDS),
                allow_redirects=False,
            )
        _require_success(response)

    await _run_patiently(send)


async def get(address: str, path: Path, *, max_bytes: int) -> None:
    def receive(connections: StoppableConnections) -> None:
        with (
            connections.session() as session,
            session.get(
                address, stream=True, timeout=(_CONNECT_SECONDS, _SILENCE_SECONDS), allow_redirects=False
            ) as response,
        ):
            _require_success(response)
            with path.open("wb") as file:
                for chunk in response.iter_content(_CHUNK):
                    if connections.stopped:
                        return
                    if file.tell() + len(chunk) > max_bytes:
                        raise TooLarge
                    file.write(chunk)

    await _run_patiently(receive)


class _SizedChunks:
    """A stream of known length, so that requests sends a Content-Length instead of chunked encoding."""

    def __init__(self, chunks: Iterator[bytes], size: int, connections: StoppableConnections) -> None:
        self._chunks, self._size, self._connections = chunks, size, connections

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            if self._connections.stopped:
                raise OSError("stopped")
            yield chunk


def _require_success(response: requests.Response) -> None:
    # To the library a redirect is a success too, but nothing was transferred.
    if response.status_code // 100 != 2:
        failure = StoreUnavailable if response.status_code in _UNAVAILABLE else TransferFailed
        raise failure(f"the object store answered {response.status_code}")


async def _run_patiently(transfer: Callable[[StoppableConnections], None]) -> None:
    """Repeat the transfer while the object store is down. All other errors are final at once."""
    loop, pause, outage_ends = asyncio.get_running_loop(), _FIRST_PAUSE, math.inf
    while True:
        try:
            return await _run_stoppable(transfer)
        except StoreUnavailable as error:
            outage_ends = min(outage_ends, loop.time() + OUTAGE_SECONDS)
            if loop.time() + pause > outage_ends:
                raise
            log.warning("transfer.waiting", error=str(error), seconds=pause)
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


async def _run_stoppable(transfer: Callable[[StoppableConnections], T]) -> T:
    """A thread cannot be stopped from outside, but its connections can."""
    connections = StoppableConnections()
    task = asyncio.get_running_loop().run_in_executor(_THREADS, transfer, connections)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        connections.stop()
        await asyncio.wait({task})
        # How it failed does not matter any more.
        task.exception()
        raise
    except _BROKEN as error:
        # To the library a certificate that is not valid is a broken connection, but waiting does not help.
        is_final = "CERTIFICATE_VERIFY_FAILED" in str(error)
        raise (TransferFailed if is_final else StoreUnavailable)(type(error).__name__) from None
    except (requests.RequestException, OSError) as error:
        raise TransferFailed(type(error).__name__) from None
