"""Prepares what needs privileges, gives them up, and serves clients until it receives a signal."""

import asyncio
import concurrent.futures.thread  # noqa: F401 - loaded late otherwise, when its file may be unreadable
import ctypes
import os
import resource
import signal
import socket
import sys
from ipaddress import ip_address

import asyncssh
import structlog

from stead.node.ssh.gateway.address_limits import AddressLimits
from stead.node.ssh.gateway.host_key import load_host_key
from stead.node.ssh.gateway.server import WINDOW, GatewayServer
from stead.node.ssh.gateway.settings import GatewaySettings, SettingsInvalid, from_environment
from stead.node.ssh.sessions import DIRECTORY
from stead.shared import log as logging
from stead.shared import open_files

LOGIN_SECONDS = 20.0
KEEPALIVE_SECONDS, KEEPALIVE_COUNT = 30, 4
REKEY_BYTES, REKEY_SECONDS = 1 << 30, 3600
BACKLOG = 128
_SET_DEATH_SIGNAL, _GET_DEATH_SIGNAL, _NO_NEW_PRIVILEGES = 1, 2, 38
"""Operations of prctl."""

SIGNATURES = (
    *("ssh-ed25519", "sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"),
    *("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "rsa-sha2-512", "rsa-sha2-256"),
)
"""Without DSA, and without RSA with SHA-1."""
KEY_EXCHANGES = (
    *("curve25519-sha256", "curve25519-sha256@libssh.org"),
    *("ecdh-sha2-nistp256", "ecdh-sha2-nistp384", "ecdh-sha2-nistp521"),
)
"""Without those over finite fields, which keep the gateway busy for strangers."""
CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes256-ctr", "aes128-ctr")
"""What processors have instructions for. One gateway serves many transfers."""
MACS = ("hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com")

log = structlog.get_logger()


def run() -> None:
    logging.configure()
    try:
        settings = from_environment()
    except SettingsInvalid as error:
        sys.exit(str(error))
    open_files.raise_limit()
    host_key = load_host_key(settings.host_key)
    listening = _listen(settings)
    place = settings.data / DIRECTORY
    place.mkdir(mode=0o711, exist_ok=True)
    # The directories above it may be closed to the user that the gateway becomes.
    directory = os.open(place, os.O_PATH | os.O_DIRECTORY)
    give_up_privileges(settings.uid)
    asyncio.run(serve(listening, host_key, directory))


def give_up_privileges(uid: int) -> None:
    """For good: not even a program with the set-user-id bit gives them back."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    os.chdir("/")
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    death_signal = ctypes.c_int()
    prctl(_GET_DEATH_SIGNAL, ctypes.byref(death_signal), 0, 0, 0)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    if prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        sys.exit("the gateway could not give up its privileges")
    # With another user, the kernel forgets that the gateway ends with its supervisor.
    prctl(_SET_DEATH_SIGNAL, death_signal.value, 0, 0, 0)


def _listen(settings: GatewaySettings) -> socket.socket:
    family = socket.AF_INET6 if ip_address(settings.ssh_host).version == 6 else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Several gateways share the port, so that transfers of some people do not slow down the shells of others.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if family == socket.AF_INET6:
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listening.bind((settings.ssh_host, settings.ssh_port))
    return listening


async def serve(listening: socket.socket, host_key: asyncssh.SSHKey, directory: int) -> None:
    """Return after SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = await start_server(listening, host_key, directory)
    address = listening.getsockname()
    fingerprint = host_key.get_fingerprint()
    log.info("ssh.started", host=address[0], port=address[1], fingerprint=fingerprint, uid=os.geteuid())
    await stop.wait()
    server.close()
    log.info("ssh.stopped")


async def start_server(
    listening: socket.socket, host_key: asyncssh.SSHKey, directory: int
) -> asyncssh.SSHAcceptor:
    limits = AddressLimits()
    return await asyncssh.listen(
        sock=listening,
        backlog=BACKLOG,
        server_factory=lambda: GatewayServer(limits, directory),
        server_host_keys=[host_key],
        server_version="Stead",
        config=[],
        gss_host=None,
        host_based_auth=False,
        kbdint_auth=False,
        agent_forwarding=False,
        x11_forwarding=False,
        allow_pty=True,
        line_editor=False,
        encoding=None,
        allow_scp=False,
        sftp_factory=None,
        window=WINDOW,
        login_timeout=LOGIN_SECONDS,
        keepalive_interval=KEEPALIVE_SECONDS,
        keepalive_count_max=KEEPALIVE_COUNT,
        rekey_bytes=REKEY_BYTES,
        rekey_seconds=REKEY_SECONDS,
        signature_algs=SIGNATURES,
        kex_algs=KEY_EXCHANGES,
        encryption_algs=CIPHERS,
        mac_algs=MACS,
        compression_algs=["none"],
    )
