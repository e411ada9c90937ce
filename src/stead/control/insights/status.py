"""What operators see of insights: which nodes are behind, what was lost, and how much is stored. No data of
tenants."""

from datetime import datetime
from typing import NamedTuple

from stead.control.engines.postgres import Tx
from stead.control.insights import chunk_store
from stead.control.insights.table_store import StoredTable


class NodeStatus(NamedTuple):
    node_id: str
    until: datetime | None
    """Everything up to then has been inserted."""
    waiting: int
    """Chunks that were announced and not inserted yet."""
    refused: int
    lost_rows: int


async def list_nodes(tx: Tx) -> list[NodeStatus]:
    return await chunk_store.list_nodes(tx, NodeStatus)


async def has_site(tx: Tx, site: str) -> bool:
    return await chunk_store.has_site(tx, site)


def render(nodes: list[NodeStatus], stored: list[StoredTable] | None) -> str:
    """`stored` is None if ClickHouse does not answer."""
    lines = [f"{'node':24} {'complete until':24} {'waiting':>8} {'refused':>8} {'lost rows':>10}"]
    for node in nodes:
        until = node.until.strftime("%Y-%m-%dT%H:%M:%SZ") if node.until else "never"
        lines.append(f"{node.node_id:24} {until:24} {node.waiting:8} {node.refused:8} {node.lost_rows:10}")
    lines += ["", f"{'table':24} {'rows':>16} {'megabytes':>12} {'bytes a row':>12}"]
    if stored is None:
        lines.append("ClickHouse does not answer")
    for table in stored or ():
        each = table.bytes / table.rows if table.rows else 0
        lines.append(f"{table.name:24} {table.rows:16,} {table.bytes / 1e6:12.1f} {each:12.1f}")
    return "\n".join(lines)
