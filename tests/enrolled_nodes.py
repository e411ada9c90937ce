"""Nodes as the control plane knows them, without an agent."""

from stead.control.engines.postgres import Tx
from stead.control.nodes import service as nodes
from stead.protocol.commands import Heartbeat
from stead.protocol.sealed_work import public_key_of

PRIVATE_KEY = bytes(range(32))


async def record_node(
    tx: Tx, node: str = "node-1", region: str = "us-east", *, builders: tuple[str, ...] = ()
) -> None:
    """Enrol a node that may build, and record a heartbeat of it."""
    await nodes.enrol(
        tx,
        node,
        region=region,
        public_key=public_key_of(PRIVATE_KEY),
        may_build=True,
        max_capacity=100_000,
    )
    await nodes.record_heartbeat(tx, Heartbeat(node, region, 100_000, 0, "0.1.0", builders=builders))
