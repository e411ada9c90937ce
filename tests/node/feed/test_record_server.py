"""The responses to nginx when it looks up an unknown name."""

import asyncio
import json
import os
import pwd
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from stead.node.feed.record_decoder import RecordDecoder
from stead.node.feed.record_server import MAX_CONNECTIONS, RecordServer
from stead.node.feed.record_store import RecordChange, RecordStore
from stead.node.feed.run_directory import EDGE_GROUP, prepare_run_directory
from stead.protocol import edge_records
from stead.protocol.edge_records import EdgeRecord
from stead.shared.edge_keys import seal
from tests.node.harness import until
from tests.patience import time_limit

REGION, KEY = "us-east", bytes(32)

RECORDS: dict[str, EdgeRecord] = {
    edge_records.host_key(REGION, "shop.example.com"): edge_records.HostRecord("env_1"),
    edge_records.host_key(REGION, "stray.example.com"): edge_records.HostRecord("env_gone"),
    edge_records.environment_key(REGION, "env_1"): edge_records.EnvironmentRecord("site_1", "node-1"),
    edge_records.environment_key(REGION, "env_2"): edge_records.EnvironmentRecord("site_2", "node-2"),
    edge_records.redirects_key(REGION, "site_1", 0): edge_records.RedirectsRecord(
        "1", (edge_records.EdgeRedirect("/a", "/b", 301),)
    ),
    edge_records.redirects_key(REGION, "site_1", 1): edge_records.RedirectsRecord(
        "1", (edge_records.EdgeRedirect("/c", "/d", 301),)
    ),
    edge_records.redirects_key(REGION, "site_2", 0): edge_records.RedirectsRecord("1", ()),
    edge_records.node_key(REGION, "node-1"): edge_records.PeerRecord("10.0.0.1:80"),
    edge_records.node_key(REGION, "node-2"): edge_records.PeerRecord("10.0.0.2:80"),
    edge_records.certificate_key(REGION, "shop.example.com"): edge_records.CertificateRecord(
        "the chain", seal(KEY, "shop.example.com", "the key")
    ),
    edge_records.challenge_key(REGION, "token-1"): edge_records.ChallengeRecord(
        "shop.example.com", "the answer"
    ),
}


@asynccontextmanager
async def opened(data: Path) -> AsyncIterator[Path]:
    store = RecordStore(data / "edge.sqlite")
    store.begin_history("history")
    changes = [
        RecordChange(key, number, number, edge_records.encode(record))
        for number, (key, record) in enumerate(RECORDS.items(), 1)
    ]
    store.apply(changes, last=True)
    socket = prepare_run_directory(data) / "store.sock"
    try:
        async with RecordServer(store, RecordDecoder([KEY]), REGION).listen(socket):
            yield socket
    finally:
        store.close()


@pytest.fixture
async def socket(scratch: Path) -> AsyncIterator[Path]:
    async with opened(scratch) as it:
        yield it


async def said(reader: asyncio.StreamReader) -> tuple[int, list[dict[str, Any]]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = int(head.partition("Content-Length: ")[2].partition("\r\n")[0])
    body = await reader.readexactly(length)
    return int(head.split(" ")[1]), [json.loads(line) for line in body.splitlines()]


async def ask(socket: Path, path: str, method: str = "GET") -> tuple[int, list[dict[str, Any]]]:
    reader, writer = await asyncio.open_unix_connection(socket)
    try:
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: store\r\n\r\n".encode())
        async with time_limit(5):
            return await said(reader)
    finally:
        writer.close()


async def test_a_host_is_returned_with_all_records_that_serving_it_needs(socket: Path) -> None:
    status, lines = await ask(socket, "/host/shop.example.com")
    assert status == 200
    assert [(line["kind"], line["name"]) for line in lines] == [
        ("host", "shop.example.com"),
        ("environment", "env_1"),
        ("redirects", "site_1.0"),
        ("redirects", "site_1.1"),
        ("node", "node-1"),
    ]
    assert all(line["revision"] > 0 for line in lines)
    assert lines[-1]["value"] == {"address": "10.0.0.1:80"}


async def test_a_host_without_an_environment_is_returned_alone(socket: Path) -> None:
    _, lines = await ask(socket, "/host/stray.example.com")
    assert [line["kind"] for line in lines] == ["host"]


async def test_certificates_are_returned_decrypted_and_challenges_unchanged(socket: Path) -> None:
    _, (certificate,) = await ask(socket, "/certificate/shop.example.com")
    assert certificate["value"] == {"chain": "the chain", "key": "the key"}
    _, (challenge,) = await ask(socket, "/challenge/token-1")
    assert challenge["value"] == {"host": "shop.example.com", "answer": "the answer"}


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/host", "/host/", "/host/unknown.example.com", "/host/*", "/host/shop.example.com/more"),
        *("/environment/env_1", "/certificate/..", "/challenge/%2e", "/challenge/a.b", "//shop.example.com"),
    ],
)
async def test_other_paths_are_not_found(socket: Path, path: str) -> None:
    assert await ask(socket, path) == (404, [])


async def test_only_reading_is_possible(socket: Path) -> None:
    assert await ask(socket, "/host/shop.example.com", "POST") == (405, [])


async def test_a_connection_serves_many_requests(socket: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(socket)
    for host, status in (("shop", 200), ("unknown", 404), ("shop", 200)):
        writer.write(f"GET /host/{host}.example.com HTTP/1.1\r\nHost: store\r\n\r\n".encode())
        assert (await said(reader))[0] == status
    writer.close()


async def test_an_endless_request_is_rejected(socket: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(socket)
    writer.write(b"GET /host/" + b"x" * 100_000)
    async with time_limit(5):
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
    writer.close()
    assert (await ask(socket, "/host/shop.example.com"))[0] == 200


async def test_the_number_of_connections_is_limited(socket: Path) -> None:
    waiting = [await asyncio.open_unix_connection(socket) for _ in range(MAX_CONNECTIONS)]
    assert (await ask(socket, "/host/shop.example.com"))[0] == 503
    for _, writer in waiting:
        writer.close()

    async def served() -> bool | None:
        return (await ask(socket, "/host/shop.example.com"))[0] == 200 or None

    await until(served)


CONNECT = """
import os, socket, sys
path, user, group = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.setgroups([]), os.setgid(group), os.setuid(user)
try:
    socket.socket(socket.AF_UNIX).connect(path)
except PermissionError:
    print("refused")
else:
    print("connected")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as somebody else")
async def test_only_the_workers_of_nginx_can_connect(socket: Path) -> None:
    for user, outcome in ((EDGE_GROUP, b"connected"), ("nobody", b"refused")):
        who = pwd.getpwnam(user)
        argv = [sys.executable, "-c", CONNECT, str(socket), str(who.pw_uid), str(who.pw_gid)]
        asked = await asyncio.to_thread(subprocess.run, argv, stdout=subprocess.PIPE, check=True)
        assert asked.stdout.strip() == outcome
