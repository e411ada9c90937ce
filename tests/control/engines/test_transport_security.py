"""An engine that the operator addresses with TLS is never talked to without it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from pathlib import Path

import aiosmtplib
import pytest

from stead.control.engines.nats import Nats
from stead.control.engines.redis import Redis
from stead.control.engines.smtp import SmtpServer
from stead.control.engines.temporal import Orchestrator
from stead.dev.self_signed import create_certificate
from stead.protocol.subjects import Program
from stead.shared.nats_urls import InvalidNatsUrl
from tests.control.invites.sink import new_sink
from tests.patience import time_limit

BOUND = 10
CLIENT_HELLO = b"\x16"
PASSWORD = "secret-password"
INFO = b'INFO {"server_id":"x","version":"2.10.0","headers":true,"max_payload":1048576,"proto":1}\r\n'


class PlainServer:
    """Speaks no TLS, and records what clients send."""

    def __init__(self, greeting: bytes) -> None:
        self._greeting = greeting
        self.received = b""
        self.something = asyncio.Event()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self._greeting)
        while data := await reader.read(4096):
            self.received += data
            self.something.set()
            writer.write(b"+OK\r\n")
        writer.close()

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[int]:
        async with await asyncio.start_server(self._serve, "127.0.0.1", 0) as server:
            yield server.sockets[0].getsockname()[1]

    async def assert_only_tls(self) -> None:
        async with time_limit(BOUND):
            await self.something.wait()
        assert self.received.startswith(CLIENT_HELLO)
        assert PASSWORD.encode() not in self.received


async def test_a_password_is_never_sent_to_a_redis_without_tls() -> None:
    server = PlainServer(b"")
    async with server.listen() as port:
        redis = Redis(f"rediss://:{PASSWORD}@127.0.0.1:{port}/0", on_connect=lambda: None)
        await redis.start()
        try:
            await server.assert_only_tls()
            assert not redis.connected
        finally:
            await redis.close()


async def test_redis_with_tls_is_used_if_its_certificate_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = create_certificate("redis")
    (tmp_path / "crt").write_bytes(certificate)
    (tmp_path / "key").write_bytes(key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(4096):
            writer.write(b"+OK\r\n")
        writer.close()

    connected = []
    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        url = f"rediss://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
        for trusted in (False, True):
            if trusted:
                monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "crt"))
            redis = Redis(url, timeout=BOUND, on_connect=lambda: None)
            await redis.start()
            connected.append(redis.connected)
            await redis.close()
    assert connected == [False, True]


async def test_a_password_is_never_sent_to_a_nats_without_tls() -> None:
    server = PlainServer(INFO)
    async with server.listen() as port:
        nats = Nats(f"tls://127.0.0.1:{port}", user="api", password=PASSWORD, program=Program.API)
        nats.start()
        try:
            await server.assert_only_tls()
            assert not nats.has_responded_for()
        finally:
            await nats.stop()


async def test_temporal_with_tls_is_never_used_without() -> None:
    server, end = PlainServer(b""), asyncio.Event()
    async with server.listen() as port:
        connecting = asyncio.create_task(Orchestrator.connect(f"127.0.0.1:{port}", end, tls=True))
        await server.assert_only_tls()
        end.set()
        async with time_limit(BOUND):
            assert await connecting is None


async def test_mail_is_not_sent_without_starttls_unless_the_operator_asks_for_it() -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.com", "b@example.com", "x"
    with new_sink().open() as sink:
        plain = f"smtp://127.0.0.1:{sink.port}"
        with pytest.raises(aiosmtplib.SMTPException):
            await SmtpServer(plain).send(message, "b@example.com")
        assert not sink.letters
        await SmtpServer(plain.replace("smtp:", "smtp+plaintext:")).send(message, "b@example.com")
        assert len(sink.letters) == 1


def test_other_schemes_are_refused() -> None:
    with pytest.raises(ValueError, match="redis"):
        Redis("redis+tls://127.0.0.1", on_connect=lambda: None)
    with pytest.raises(InvalidNatsUrl):
        Nats("nats+tls://127.0.0.1", user="api", password="", program=Program.API)
    with pytest.raises(ValueError, match="smtp"):
        SmtpServer("smtp+tls://127.0.0.1")
