"""Changes of content end in time, and say little, whatever PHP does."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stead.node.drivers.driver import Refusal
from stead.node.wordpress.content_changes import change_content
from stead.node.wordpress.question_files import QuestionFiles
from stead.node.wordpress.site_questions import SiteQuestions
from stead.protocol.work.cms import ChangeContent, SiteChange
from stead.shared.wording import MAX_REASON
from tests.node.driver_pairs import CapturedOutput, new_assignment
from tests.patience import time_limit

PARAMETERS, STDIN, STDOUT, END = 4, 5, 6, 3
Answer = Callable[[int], Awaitable[dict[str, Any]]]
"""What PHP prints for a request, by its number."""


class AwakeSite:
    """A site of which only PHP-FPM matters."""

    state = "awake"

    @asynccontextmanager
    async def use(self) -> AsyncIterator[None]:
        yield


class PhpServer:
    """Speaks FastCGI, as PHP-FPM does."""

    def __init__(self, socket: Path, answer: Answer) -> None:
        self._socket, self._answer, self.asked = socket, answer, 0

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[SiteQuestions]:
        server = await asyncio.start_unix_server(self._handle, self._socket)
        paths = SimpleNamespace(socket=self._socket)
        try:
            yield SiteQuestions(
                lambda _: AwakeSite(),  # type: ignore[arg-type,return-value]
                lambda _: paths,  # type: ignore[arg-type,return-value]
                QuestionFiles(self._socket.parent),
            )
        finally:
            server.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked += 1
        mark = await _read_mark(reader)
        printed = json.dumps(await self._answer(self.asked)).encode()
        text = b"\r\n\r\n<" + mark + b">" + printed + b"</" + mark + b">"
        for start in range(0, len(text), 60_000):
            writer.write(_record(STDOUT, text[start : start + 60_000]))
        writer.write(_record(END, bytes(8)))
        await writer.drain()
        writer.close()


async def _read_mark(reader: asyncio.StreamReader) -> bytes:
    """Reads the request to its end."""
    parameters = b""
    while True:
        head = await reader.readexactly(8)
        content = await reader.readexactly(int.from_bytes(head[4:6], "big") + head[6])
        if head[1] == PARAMETERS:
            parameters += content
        if head[1] == STDIN and not content:
            return parameters.partition(b"STEAD_MARK")[2][:32]


def _record(kind: int, content: bytes) -> bytes:
    return bytes([1, kind, 0, 1, *len(content).to_bytes(2, "big"), 0, 0]) + content


async def change(tmp_path: Path, answer: Answer, count: int, seconds: float) -> tuple[PhpServer, list[str]]:
    """Returns what was said; the last line is the reason of a refusal."""
    output, php = CapturedOutput(), PhpServer(tmp_path / "php.sock", answer)
    work = ChangeContent("cms", tuple(SiteChange("content.create", b"{}") for _ in range(count)))
    async with php.serve() as questions:
        try:
            task = new_assignment(said=output)
            await change_content(questions, "http://a.example", task, work, seconds)
        except Refusal as refusal:
            output.lines.append(refusal.reason)
    return php, output.lines


async def test_a_site_that_hangs_is_not_asked_again(tmp_path: Path) -> None:
    hanging = asyncio.Event()

    async def answer(number: int) -> dict[str, Any]:
        if number == 2:
            await hanging.wait()
        return {"result": {}}

    async with time_limit(30):
        php, said = await change(tmp_path, answer, count=100, seconds=4.0)
    hanging.set()
    assert php.asked == 2
    assert said[-1] == "change 2 was not answered in 4 s; 1 were made before it"


async def test_a_change_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    async def answer(number: int) -> dict[str, Any]:
        return {"error": "refused", "reason": "no title"} if number == 1 else {"result": {}}

    _, said = await change(tmp_path, answer, count=3, seconds=20.0)
    assert said[0] == "content: content.create 1 failed: no title"
    assert said[-1] == "content: 2 of 3 changes were made"


async def test_what_a_site_gives_as_its_reason_is_cut(tmp_path: Path) -> None:
    async def answer(_: int) -> dict[str, Any]:
        return {"error": "refused", "reason": "a\0" + "b" * 700_000}

    _, said = await change(tmp_path, answer, count=1, seconds=20.0)
    assert said[-1].startswith("no change was made: a\ufffdbbb")
    assert all(len(line) < MAX_REASON + 100 for line in said)


@pytest.mark.parametrize("code", ["not_found", "failed"])
async def test_nothing_was_made(tmp_path: Path, code: str) -> None:
    async def answer(_: int) -> dict[str, Any]:
        return {"error": code, "reason": "why"}

    _, said = await change(tmp_path, answer, count=2, seconds=20.0)
    assert said[-1] == "no change was made: why"
