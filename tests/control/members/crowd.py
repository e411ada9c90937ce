"""A few people who act on one team in any order, and the invariants that must hold."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

import httpx

from stead.control.app import ControlPlane
from stead.shared.clock import MovableClock
from stead.shared.roles import Role
from tests import teams
from tests.client import Client

T = TypeVar("T")


@dataclass(frozen=True)
class Member:
    role: Role
    expires_at: datetime | None


@dataclass(frozen=True)
class Sent:
    """An invite that was sent and not yet answered."""

    token: str
    role: Role
    by: str


@dataclass
class Crowd:
    """Called from the thread of Hypothesis; coroutines run in the event loop of the tests."""

    plane: ControlPlane
    clock: MovableClock
    loop: asyncio.AbstractEventLoop
    people: list[str]
    clients: dict[str, Client]
    team: str = ""

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout=60)

    async def found(self) -> None:
        self.clock.ahead = timedelta()
        made = await self.clients[self.people[0]].post("/v1/teams", json={"name": "A Crowd"})
        self.team = made.json()["data"]["team_id"]

    async def members(self) -> dict[str, Member]:
        """The active members, read from the table."""
        async with self.plane.database.reading() as tx:
            rows = await tx.all(
                lambda account, role, expires_at: (account, Member(Role(role), expires_at)),
                "select account_id, role, expires_at from team_members"
                " where team_id = $1 and (expires_at is null or expires_at > $2)",
                *(self.team, tx.now),
            )
        return dict(rows)

    async def defaults(self) -> set[str]:
        """The accounts whose default team this is; it provides their ceiling."""
        async with self.plane.database.reading() as tx:
            sql = "select id from accounts where default_team_id = $1 and id = any($2)"
            return set(await tx.all(str, sql, self.team, self.people))

    async def add(self, actor: str, whom: str, role: Role, days: int | None) -> httpx.Response:
        body = {"client_id": whom, "role": role, "expires_at": self._end(days)}
        return await self.clients[actor].post(f"/v1/teams/{self.team}/members", json=body)

    async def update(self, actor: str, whom: str, role: Role, days: int | None) -> httpx.Response:
        body = {"role": role, "expires_at": self._end(days)}
        return await self.clients[actor].patch(f"/v1/teams/{self.team}/members/{whom}", json=body)

    async def remove(self, actor: str, whom: str) -> httpx.Response:
        return await self.clients[actor].delete(f"/v1/teams/{self.team}/members/{whom}")

    async def invite(self, actor: str, role: Role) -> httpx.Response:
        return await self.clients[actor].post(f"/v1/teams/{self.team}/invites", json={"role": role})

    async def accept(self, actor: str, sent: Sent) -> httpx.Response:
        return await self.clients[actor].post("/v1/invites/accept", json={"token": sent.token})

    async def choose_default(self, actor: str) -> httpx.Response:
        return await self.clients[actor].patch("/v1/account", json={"default_team_id": self.team})

    def _end(self, days: int | None) -> str | None:
        return None if days is None else (self.clock() + timedelta(days=days)).isoformat()


async def gather_crowd(plane: ControlPlane, clock: MovableClock, anonymous: Client, size: int) -> Crowd:
    clients = {}
    async with plane.database.transaction() as tx:
        for _ in range(size):
            account = await teams.insert_account(tx)
            _, secret = await teams.insert_key(tx, account.id)
            clients[account.id] = anonymous.as_(secret)
    return Crowd(plane, clock, asyncio.get_running_loop(), list(clients), clients)
