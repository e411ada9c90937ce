"""`stead webhooks listen`: what is new, all of it, once, and signed."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stead.control.events.store import number_events
from stead_cli.addresses import is_loopback
from stead_sdk import webhooks
from tests.clients.fault_proxy import FaultProxy
from tests.clients.terminal import Machine
from tests.patience import time_limit
from tests.people import Person
from tests.receiver import ReceivedRequest, http_response, read_request
from tests.teams import insert_event

WANTED, OTHER = "site.restarted", "site.created"


async def publish(person: Person, *types: str) -> list[str]:
    async with person.transaction() as tx:
        made = [await insert_event(tx, type_, account=person.id) for type_ in types]
    async with person.transaction() as tx:
        while await number_events(tx, 10_000):  # those of other tests come first
            pass
    return made


@dataclass
class Program:
    """What a developer runs."""

    address: str = ""
    requests: list[ReceivedRequest] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            self.requests.append(request)
            writer.write(http_response())
            await writer.drain()
        writer.close()

    async def received(self, count: int) -> list[str]:
        async with time_limit(60):
            while len(self.requests) < count:  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.05)
        return [json.loads(each.body)["id"] for each in self.requests]


@asynccontextmanager
async def developing() -> AsyncIterator[Program]:
    program = Program()
    server = await asyncio.start_server(program.serve, "127.0.0.1", 0)
    program.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield program


@asynccontextmanager
async def listening(machine: Machine, *words: str) -> AsyncIterator[str]:
    """The first line that it says. In the end it is interrupted."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "stead_cli", "webhooks", "listen", *words),
        env=machine.environment,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with time_limit(60):
            yield (await process.stderr.readline()).decode()
            process.send_signal(signal.SIGINT)
            await process.stderr.read()
            assert await process.wait() == 130
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
async def machine(tmp_path: Path, proxy: FaultProxy, person: Person) -> Machine:
    return Machine(tmp_path, {"STEAD_BASE_URL": proxy.address, "STEAD_API_KEY": await person.secret()})


async def test_what_is_new_is_forwarded_once_and_signed(machine: Machine, proxy: FaultProxy, person: Person):
    await publish(person, WANTED, *[OTHER] * 100)
    async with developing() as program:
        words = ("--type", WANTED, "--forward-to", program.address, "--quiet")
        async with listening(machine, *words) as said:
            assert f"Forwarding to http://{program.address}." in said
            new = await publish(person, WANTED, OTHER)
            assert await program.received(1) == new[:1], "the one from before is not new"
            # More than a page, after the connection was broken for longer than a request is repeated.
            proxy.then("refuse", "503", "refuse", "503")
            more = await publish(person, *[WANTED] * 130)
            assert await program.received(131) == [new[0], *more]
        request = program.requests[0]
        secret = said.strip().rpartition(" ")[2]
        assert webhooks.verify(request.body, request.headers, secret)["type"] == WANTED


@pytest.mark.parametrize("address", ["ftp://localhost", "localhost:99999", "http://", "local host"])
def test_an_address_that_is_none_is_refused_before_anything(tmp_path: Path, address: str):
    done = Machine(tmp_path).stead("webhooks", "listen", "--forward-to", address)
    assert done.code == 2
    assert "--forward-to" in done.err


def test_only_this_machine_is_this_machine():
    assert all(map(is_loopback, ("localhost", "a.localhost", "127.0.0.1", "127.1.2.3", "::1")))
    assert not any(map(is_loopback, ("127.example.com", "127.0.0.1.example.com", "127.evil", "10.0.0.1")))
