"""With a server of AsyncSSH that nobody has to sign in to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncssh

from stead.node.ssh.gateway.key_exchanges import KeyExchanges
from tests.node.harness import until
from tests.node.ssh.attempts.memory import begin_key_exchange_and_stop
from tests.patience import time_limit


class OpenServer(asyncssh.SSHServer):
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.changes: list[bool] = []
        self.reasons: list[str] = []

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._exchanges = KeyExchanges(conn, self.changes.append, self._disconnect, self._seconds)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._exchanges.close()

    def begin_auth(self, username: str) -> bool:  # noqa: ARG002
        return False

    def _disconnect(self, reason: str) -> None:
        self.reasons.append(reason)
        self._connection.abort()


@asynccontextmanager
async def a_client(seconds: float) -> AsyncIterator[tuple[OpenServer, asyncssh.SSHClientConnection]]:
    server = OpenServer(seconds)
    key = asyncssh.generate_private_key("ssh-ed25519")
    listening = await asyncssh.listen(
        "127.0.0.1", 0, server_factory=lambda: server, server_host_keys=[key], config=[]
    )
    options: Any = {
        "known_hosts": None,
        "config": [],
        "agent_path": None,
        "client_keys": None,
        "gss_host": None,
    }
    async with (
        listening,
        asyncssh.connect("127.0.0.1", listening.get_port(), username="x", **options) as client,
    ):
        yield server, client


async def test_each_exchange_is_told_when_it_begins_and_when_it_ends():
    async with a_client(seconds=60) as (server, client):
        before = len(server.changes)
        assert not server.changes[-1]
        client._send_kexinit()
        client._kexinit_sent = True

        async def exchanged() -> bool | None:
            return server.changes[before:] == [True, False] or None

        await until(exchanged)
        assert server.reasons == []


async def test_an_exchange_that_is_not_finished_ends_the_connection():
    async with a_client(seconds=0.3) as (server, client):
        begin_key_exchange_and_stop(client)
        async with time_limit(10):
            await client.wait_closed()
        assert server.changes[-1]
        assert server.reasons == ["the key exchange takes too long"]
