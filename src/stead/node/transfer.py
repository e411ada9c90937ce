"""Transfers files to and from addresses that the control plane signed: in chunks, with a size limit, and
stopped when cancelled."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import TypeVar

import requests

T = TypeVar("T")

_CHUNK = 1024 * 1024
_CONNECT_SECONDS, _SILENCE_SECONDS = 10.0, 60.0


class TransferFailed(Exception):
    """Trying again may help. The message does not contain the address, which is a secret while it is
    valid."""


class TooLarge(Exception):
    """The file is larger than expected."""


async def put(path: Path, address: str) -> None:
    def send(stopped: Event) -> None:
        with path.open("rb") as file:
            size = path.stat().st_size
            response = requests.put(
                address,
                data=_SizedChunks(iter(lambda: file.read(_CHUNK), b""), size, stopped),
                timeout=(_CONNECT_SECONDS, _SILENCE_SECONDS),
                allow_redirects=False,
            )
        _require_success(response)

    await _run_stoppable(send)


async def get(address: str, path: Path, *, max_bytes: int) -> None:
    def receive(stopped: Event) -> None:
        with requests.get(
            address, stream=True, timeout=(_CONNECT_SECONDS, _SILENCE_SECONDS), allow_redirects=False
        ) as response:
            _require_success(response)
            with path.open("wb") as file:
                for chunk in response.iter_content(_CHUNK):
                    if stopped.is_set():
                        return
                    if file.tell() + len(chunk) > max_bytes:
                        raise TooLarge
                    file.write(chunk)

    await _run_stoppable(receive)


class _SizedChunks:
    """A stream of known length, so that requests sends a Content-Length instead of chunked encoding."""

    def __init__(self, chunks: Iterator[bytes], size: int, stopped: Event) -> None:
        self._chunks, self._size, self._stopped = chunks, size, stopped

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            if self._stopped.is_set():
                raise OSError("stopped")
            yield chunk


def _require_success(response: requests.Response) -> None:
    if not response.ok:
        raise TransferFailed(f"the object store answered {response.status_code}")


async def _run_stoppable(transfer: Callable[[Event], T]) -> T:
    """A thread cannot be stopped from outside, but it checks between two chunks whether it should stop."""
    stopped = Event()
    task = asyncio.ensure_future(asyncio.to_thread(transfer, stopped))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stopped.set()
        await asyncio.wait({task})
        raise
    except (requests.RequestException, OSError) as error:
        raise TransferFailed(type(error).__name__) from None
