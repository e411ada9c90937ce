"""A WordPress site on a node, and the table of that node."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from stead.control.access.public_keys import parse_public_key
from stead.control.access.publisher import AccessPublisher
from stead.control.app import ControlPlane
from stead.control.engines.postgres import Tx
from stead.node.access.driver import AccessDriver
from stead.node.access.table import AccessTable, Admission
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.work_opener import work_opener
from stead.protocol.commands import Command, Result, encode, read_order
from stead.protocol.work.access import SetAccess
from stead.shared.clock import MovableClock
from stead.shared.roles import Role
from tests import teams
from tests.client import Client
from tests.conftest import NewPerson
from tests.control.access.keys import new_public_key
from tests.enrolled_nodes import PRIVATE_KEY, record_node
from tests.node.driver_pairs import new_assignment
from tests.people import Person


class NodeTable:
    """The table of one node, which receives commands as a gateway sends them, without NATS between them."""

    def __init__(self, name: str, file: Path, clock: MovableClock) -> None:
        self.name = name
        self.table = AccessTable(file, now=lambda: clock().timestamp())
        self.received: list[Command] = []
        self.refuses = False
        self.is_away = False

    async def handle(self, command: Command) -> Result | None:
        if self.is_away:
            return None
        order = read_order(encode(command))
        assert isinstance(order, Command)
        self.received.append(order)
        answer = (command.node, command.job, command.step, command.epoch)
        if self.refuses:
            return Result(*answer, "refused", "node.outdated")
        work = work_opener(PRIVATE_KEY)(order)
        assert isinstance(work, SetAccess)
        assignment = Assignment("access", order.site, order.environment, new_assignment().output)
        try:
            await AccessDriver(self.table).set_access(assignment, work)
        except Refusal as refusal:
            return Result(*answer, "refused", refusal.code)
        return Result(*answer, "done")


@dataclass
class Nodes:
    """Nodes, and the publisher that tells them who may enter."""

    plane: ControlPlane
    places: Path
    clock: MovableClock
    tables: dict[str, NodeTable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.publisher = AccessPublisher(self.plane.database, self.plane.listener, self)  # type: ignore[arg-type]

    async def try_command(self, command: Command, _: float) -> Result | None:
        """As the gateway does it."""
        return await self.tables[command.node].handle(command)

    async def add(self, name: str, region: str = "us-east") -> NodeTable:
        async with self.plane.database.transaction() as tx:
            await record_node(tx, name, region)
        self.tables[name] = NodeTable(name, self.places / f"{name}.sqlite", self.clock)
        return self.tables[name]

    async def publish(self) -> None:
        """What the publisher does within a second or two."""
        await self.publisher.update_lists()
        await self.publisher.update_lists()
        await self.publisher.deliver_due()


@dataclass
class EnteredSite:
    owner: Person
    team: str
    id: str
    env: str
    user: str
    node: NodeTable
    nodes: Nodes

    async def replace_keys(self, client: Client, *keys: str, **more: Any) -> httpx.Response:
        body = {"keys": [{"public_key": key, **more} for key in keys]}
        return await client.put(f"/v1/sites/{self.id}/ssh-keys", json=body)

    async def list_keys(self, client: Client | None = None) -> list[dict[str, Any]]:
        response = await (client or self.owner.session).get(f"/v1/sites/{self.id}/ssh-keys")
        assert response.status_code == 200, response.text
        keys: list[dict[str, Any]] = response.json()["data"]["keys"]
        return keys

    def authorize(self, key: str, user: str | None = None) -> Admission | None:
        return self.node.table.authorize(user or self.user, parse_public_key(key).blob)

    async def run(self, sql: str, *args: object) -> None:
        async with self.owner.transaction() as tx:
            await tx.run(sql, *args)

    async def add_member(self, person: Person, role: Role = Role.SITE_MANAGER, **more: Any) -> None:
        async with self.owner.transaction() as tx:
            await teams.insert_member(tx, self.team, person.id, role, **more)

    async def enter(self, client: Client) -> tuple[str, Admission]:
        """A new key of this client, which opens the site."""
        key = new_public_key()
        kept = [each["public_key"] for each in await self.list_keys()]
        response = await self.replace_keys(client, *kept, key)
        assert response.status_code == 202, response.text
        await self.nodes.publish()
        admission = self.authorize(key)
        assert admission is not None
        return key, admission


@pytest.fixture
async def nodes(plane: ControlPlane, tmp_path: Path, clock: MovableClock) -> AsyncIterator[Nodes]:
    nodes = Nodes(plane, tmp_path, clock)
    await _forget_access(plane)
    yield nodes
    for each in nodes.tables.values():
        each.table.close()
    await _forget_access(plane)


async def _forget_access(plane: ControlPlane) -> None:
    """Sites of other tests are on the same nodes."""
    async with plane.database.transaction() as tx:
        for table in ("ssh_keys", "access_passwords", "access_lists", "access_changes"):
            await tx.run(f"delete from {table}")


@pytest.fixture
async def entered_site(nodes: Nodes, new_person: NewPerson) -> EnteredSite:
    owner, node = await new_person(), await nodes.add("node-1")
    async with owner.transaction() as tx:
        team = await teams.insert_team(tx, owner.id)
        site, env, user = await _insert_site(tx, team, node.name)
    return EnteredSite(owner, team, site, env, user, node, nodes)


async def _insert_site(tx: Tx, team: str, node: str) -> tuple[str, str, str]:
    site = await teams.insert_site(tx, team=team)
    await tx.run("update sites set profile = 'vanilla', runtime = 'cms' where id = $1", site)
    await tx.run("update environments set node_id = $2 where site_id = $1", site, node)
    env = await tx.value("select id from environments where site_id = $1", site)
    subdomain = await tx.value("select subdomain from environments where site_id = $1", site)
    return site, env, subdomain.partition(".")[0]
