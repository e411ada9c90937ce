"""One connection of a client: who it is, and which channels it may open. Everything that is not allowed here
is refused by AsyncSSH: remote forwarding, Unix sockets, tunnels, X11 and agents."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

import asyncssh
import structlog

from stead.node.ssh.gateway.address_limits import AddressLimits
from stead.node.ssh.gateway.agent_link import AgentLink, AgentUnavailable
from stead.node.ssh.gateway.database_tunnel import DatabaseTunnel, is_database, open_tunnel
from stead.node.ssh.gateway.flow import Brake
from stead.node.ssh.gateway.key_exchanges import KeyExchanges
from stead.node.ssh.gateway.program_session import ProgramSession
from stead.node.ssh.messages import Credential, Enter, Refused
from stead.node.ssh.visitor import CHANNELS

MAX_KEYS = 10
"""How many keys a client may offer."""
MAX_PASSWORDS = 3
MAX_REQUESTS = 30
"""How often a client may ask to be signed in, in whatever way."""
SLOW_SECONDS = 5.0
"""Whoever keeps a place for longer without exchanging keys has failed to sign in."""
MAX_SECONDS = 13 * 3600.0
"""How long a connection lasts."""
BUFFERED_BYTES = 1 << 20
"""How much is kept for a client that does not read."""
WINDOW = 256 << 10
"""How much a client may send before a program reads it, in each channel."""
FAREWELL_SECONDS = 1.0
_CONNECTION, _KEYS = "connection", "keys"

log = structlog.get_logger()


class QuietChannel(asyncssh.SSHServerChannel[bytes]):
    """AsyncSSH keeps every variable that a client sends, without any limit."""

    def _process_env_request(self, packet: object) -> bool:  # noqa: ARG002
        return False


class GatewayServer(asyncssh.SSHServer):
    """`directory` is a descriptor of the directory with the agent's socket."""

    def __init__(self, limits: AddressLimits, directory: int) -> None:
        self._limits, self._directory = limits, directory
        self._connection: asyncssh.SSHServerConnection | None = None
        self._address = ""
        self._admitted = self._signed_in = False
        self._began_at = 0.0
        self._keys = self._passwords = self._requests = 0
        self._proved: Credential | None = None
        """The credential that was checked last."""
        self._link: AgentLink | None = None
        self._entered: asyncio.Task[AgentLink] | None = None
        self._channels = 0
        self._brakes: set[Brake] = set()
        self._held: set[str] = set()
        """Why nothing is read from programs: the client does not read, or keys are being exchanged."""
        self._exchanges: KeyExchanges | None = None
        self._expiry: asyncio.TimerHandle | None = None

    # The connection.

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._address = str(conn.get_extra_info("peername")[0])
        if reason := self._limits.admit(self._address):
            log.info("ssh.refused", address=self._address, reason=reason)
            conn.abort()
            return
        self._admitted, self._began_at = True, asyncio.get_running_loop().time()
        self._exchanges = KeyExchanges(conn, self._on_key_exchange, self._disconnect)
        # AsyncSSH limits neither how often a client asks, nor with how many user names.
        sign_in = conn._finish_userauth  # noqa: SLF001
        conn._finish_userauth = partial(self._count_request, sign_in)  # type: ignore[method-assign] # noqa: SLF001
        # AsyncSSH does nothing when the client does not read what was sent to it.
        conn.pause_writing = self._pause  # type: ignore[method-assign]
        conn.resume_writing = self._resume  # type: ignore[method-assign]
        transport = conn.get_extra_info("transport") or conn._transport  # noqa: SLF001
        if transport is not None:
            transport.set_write_buffer_limits(high=BUFFERED_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self._admitted:
            self._limits.leave(self._address, signed_in=self._signed_in)
            # Not those who only connect and leave, as health checks do.
            was_slow = asyncio.get_running_loop().time() > self._began_at + SLOW_SECONDS
            if not self._signed_in and (self._has_keys() or was_slow):
                self._limits.note_failure(self._address)
        if self._exchanges is not None:
            self._exchanges.close()
        if self._expiry is not None:
            self._expiry.cancel()
        if self._entered is not None:
            self._entered.cancel()
        if self._link is not None:
            self._link.close()
        self._connection = None

    def _pause(self) -> None:
        self._hold(_CONNECTION)
        self._read(go_on=False)

    def _resume(self) -> None:
        self._let_go(_CONNECTION)
        self._read(go_on=True)

    def _has_keys(self) -> bool:
        """Whether keys were exchanged, which is work for the gateway."""
        return bool(self._connection and self._connection._session_id)  # noqa: SLF001

    def _on_key_exchange(self, begun: bool) -> None:
        if begun and not self._signed_in and self._has_keys():
            self._disconnect("sign in before you exchange keys again")
            return
        self._hold(_KEYS) if begun else self._let_go(_KEYS)

    def _hold(self, reason: str) -> None:
        self._held.add(reason)
        for brake in self._brakes:
            brake.pull(reason)

    def _let_go(self, reason: str) -> None:
        self._held.discard(reason)
        for brake in self._brakes:
            brake.release(reason)

    def _read(self, *, go_on: bool) -> None:
        """Nor does the gateway answer more requests of a client that does not read the answers."""
        transport = self._connection and self._connection._transport  # noqa: SLF001
        if transport:
            with suppress(RuntimeError):
                transport.resume_reading() if go_on else transport.pause_reading()

    def add_brake(self, brake: Brake) -> None:
        self._brakes.add(brake)
        for reason in self._held:
            brake.pull(reason)

    def remove_channel(self, brake: Brake) -> None:
        self._brakes.discard(brake)
        self._channels -= 1

    # Who it is.

    async def _count_request(self, sign_in: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        self._requests += 1
        if self._requests > MAX_REQUESTS:
            self._disconnect("too many attempts to sign in")
        else:
            await sign_in(*args)

    def public_key_auth_supported(self) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return self._passwords < MAX_PASSWORDS

    async def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """The client has not proved yet that it has the private key."""
        self._keys += 1
        if self._keys > MAX_KEYS:
            self._disconnect("too many keys")
            return False
        return await self._check(Credential(username, key=key.public_data))

    async def validate_password(self, username: str, password: str) -> bool:
        self._passwords += 1
        if self._passwords > MAX_PASSWORDS or not password:
            return False
        if await self._check(Credential(username, password=password)):
            return True
        self._limits.note_failure(self._address)
        return False

    async def _check(self, credential: Credential) -> bool:
        self._proved = None
        try:
            if self._link is None:
                self._link = await AgentLink.connect(self._directory, self._on_lost)
            admitted = await self._link.ask(credential)
        except AgentUnavailable:
            log.warning("ssh.agent_unavailable")
            self._disconnect("the server is not available; try again later")
            return False
        if admitted:
            # Nothing else runs between this and the proof, so it is the one that `auth_completed` is about.
            self._proved = credential
        return admitted

    def auth_completed(self) -> None:
        self._signed_in = True
        self._limits.sign_in(self._address)
        assert self._proved is not None and self._link is not None  # noqa: S101, PT018
        self._entered = asyncio.create_task(self._enter(self._link, self._proved))
        self._entered.add_done_callback(lambda task: task.cancelled() or task.exception())
        loop = asyncio.get_running_loop()
        self._expiry = loop.call_later(MAX_SECONDS, self._disconnect, "the connection has lasted too long")

    async def _enter(self, link: AgentLink, credential: Credential) -> AgentLink:
        connection = self._connection
        client = str(connection.get_extra_info("client_version", "")) if connection else ""
        try:
            reply = await link.enter(Enter(credential, self._address, client[:200]))
        except AgentUnavailable:
            reply = Refused("the server is not available; try again later")
        if isinstance(reply, Refused):
            self._disconnect(reply.reason)
            raise _refusal(reply.reason)
        return link

    def _on_lost(self, reason: str) -> None:
        """Programs have ended, and their last words are on the way. A client whose channel is closed without
        them would not say why."""
        asyncio.get_running_loop().call_later(FAREWELL_SECONDS, self._disconnect, reason)

    def _disconnect(self, reason: str) -> None:
        if self._connection is not None:
            self._connection.disconnect(asyncssh.DISC_BY_APPLICATION, reason)
            # What the client does not read must not keep the connection open.
            asyncio.get_running_loop().call_later(1.0, self._abort)

    def _abort(self) -> None:
        if self._connection is not None:
            self._connection.abort()

    # What it opens.

    def session_requested(self):  # type: ignore[no-untyped-def]
        self._take_channel()
        connection = self._connection
        assert connection is not None  # noqa: S101
        channel = QuietChannel(
            connection,
            asyncio.get_running_loop(),
            *(True, False, False, 0, 0),  # a terminal, and no editing of lines
            *(None, "strict", WINDOW, 32768),
        )
        return channel, self._open_session()

    async def _open_session(self) -> ProgramSession:
        link = await self._wait_for_entry()
        return ProgramSession(self, link)

    def connection_requested(  # type: ignore[no-untyped-def]
        self,
        dest_host: str,
        dest_port: int,
        orig_host: str,  # noqa: ARG002
        orig_port: int,  # noqa: ARG002
    ):
        """Never True, which would have the gateway connect to whatever was asked for."""
        if not is_database(dest_host, dest_port):
            raise asyncssh.ChannelOpenError(
                asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, "only the database can be reached: db:3306"
            )
        self._take_channel()
        return self._open_tunnel()

    async def _open_tunnel(self) -> DatabaseTunnel:
        link, brake = await self._wait_for_entry(), Brake()
        try:
            tunnel = await open_tunnel(link, brake, lambda: self.remove_channel(brake))
        except BaseException:
            self._channels -= 1
            raise
        self.add_brake(brake)
        return tunnel

    async def _wait_for_entry(self) -> AgentLink:
        try:
            assert self._entered is not None  # noqa: S101
            return await asyncio.shield(self._entered)
        except BaseException:
            self._channels -= 1
            raise

    def _take_channel(self) -> None:
        if self._channels >= CHANNELS:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, "too many channels")
        self._channels += 1


def _refusal(reason: str) -> asyncssh.ChannelOpenError:
    return asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, reason)
