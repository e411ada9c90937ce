"""Nobody gets more over SSH than their key opens."""

import asyncio

from stead.node.containers.limits import GATEWAY_UID
from stead.node.ssh.message_socket import new_socket
from tests.node.ssh.attempts import ATTEMPTS
from tests.node.ssh.attempts.sign_in import prepare
from tests.node.ssh.gateway_node import GatewayNode

AT_ONCE = 3
ALONE = "use all processes and all memory"
"""Sessions of the same site would have none left."""


async def test_no_attempt_succeeds(gateway: GatewayNode):
    prepare(gateway)
    places, succeeded = asyncio.Semaphore(AT_ONCE), []

    async def try_it(name: str) -> None:
        async with places:
            try:
                if await ATTEMPTS[name](gateway):
                    succeeded.append(name)
            except Exception as error:  # noqa: BLE001 - reported with the others
                succeeded.append(f"{name}: {error!r}")

    await try_it(ALONE)
    await asyncio.gather(*(try_it(name) for name in ATTEMPTS if name != ALONE))
    assert len(ATTEMPTS) >= 40
    assert succeeded == []
    await gateway.no_session_is_left()
    assert (await gateway.site.get("/")).status_code == 200
    assert (await gateway.ssh("echo still here")).out == b"still here\n"


async def test_the_agent_listens_only_to_the_gateway(gateway: GatewayNode):
    path = gateway.node.data / "ssh" / "agent.sock"
    status = path.stat()
    assert (status.st_uid, status.st_mode & 0o777) == (GATEWAY_UID, 0o600)
    with new_socket() as nonsense:
        nonsense.connect(str(path))
        nonsense.send(b"\xff" * 1000)
        nonsense.setblocking(True)
        nonsense.settimeout(10)
        assert await asyncio.to_thread(nonsense.recv, 10) == b""
    assert (await gateway.ssh("true")).code == 0
