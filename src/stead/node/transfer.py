"""Files to and from addresses that the control plane signed: in pieces, bounded, stopped when cancelled."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import TypeVar

import requests

T = TypeVar("T")

_PIECE = 1024 * 1024
_CONNECT_SECONDS, _SILENCE_SECONDS = 10.0, 60.0


class TransferFailed(Exception):
    """It may work when it is tried again. Says nothing of the address: it is a secret while it lasts."""


class TooLarge(Exception):
    """There is more than was expected."""


async def put(path: Path, address: str) -> None:
    def send(stopped: Event) -> None:
        with path.open("rb") as file:
            size = path.stat().st_size
            answer = requests.put(
                address,
                data=_Pieces(iter(lambda: file.read(_PIECE), b""), size, stopped),
                timeout=(_CONNECT_SECONDS, _SILENCE_SECONDS),
                allow_redirects=False,
            )
        _require_success(answer)

    await _stoppable(send)


async def get(address: str, path: Path, *, most: int) -> None:
    def receive(stopped: Event) -> None:
        with requests.get(
            address, stream=True, timeout=(_CONNECT_SECONDS, _SILENCE_SECONDS), allow_redirects=False
        ) as answer:
            _require_success(answer)
            with path.open("wb") as file:
                for piece in answer.iter_content(_PIECE):
                    if stopped.is_set():
                        return
                    if file.tell() + len(piece) > most:
                        raise TooLarge
                    file.write(piece)

    await _stoppable(receive)


class _Pieces:
    """What requests sends as it is, with its length known beforehand."""

    def __init__(self, pieces: Iterator[bytes], size: int, stopped: Event) -> None:
        self._pieces, self._size, self._stopped = pieces, size, stopped

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            if self._stopped.is_set():
                raise OSError("stopped")
            yield piece


def _require_success(answer: requests.Response) -> None:
    if not answer.ok:
        raise TransferFailed(f"the object store answered {answer.status_code}")


async def _stoppable(transfer: Callable[[Event], T]) -> T:
    """A thread cannot be stopped, but it looks between two pieces whether it should."""
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
