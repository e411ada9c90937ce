"""Customers who deploy, push, restart and invite all day."""

from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.client import Client
from tests.control.git import forges
from tests.control.site_driver import new_domain
from tests.people import Person, make_person
from tests.robustness.day import Day
from tests.teams import found_team

REPOSITORY = "https://git.example.com/octo/site.git"
PLAIN_SITES = 3


@dataclass
class Customers:
    """One account, in test mode: its sites are simulated on the node, and everything else is real."""

    day: Day
    person: Person
    client: Client
    forge: httpx.AsyncClient
    team: str = ""
    sites: list[str] = field(default_factory=list)
    pushed_site: str = ""
    hook_secret: str = ""
    invited: list[str] = field(default_factory=list)
    last_commit: str = ""

    @classmethod
    async def arrive(cls, day: Day) -> "Customers":
        person = await make_person(day.plane, day.anonymous)
        forge = httpx.AsyncClient(transport=httpx.ASGITransport(day.plane), base_url="http://stead.test")
        customers = cls(day, person, await person.key("*", mode="test"), forge)
        customers.team = await found_team(person)
        for receiver in day.receivers.values():
            await customers._ask(
                "POST", "/v1/webhook-endpoints", {"url": receiver.url, "event_types": ["*"]}, status=201
            )
        for _ in range(PLAIN_SITES + 1):
            job = await customers._ask("POST", "/v1/sites", {"domain": new_domain(), "profile": "static"})
            customers.sites.append(job["resource"]["site_id"])
        await day.wait_until_idle()
        await customers._connect_repository()
        return customers

    async def _connect_repository(self) -> None:
        self.pushed_site = self.sites.pop()
        async with self.day.plane.database.transaction() as tx:
            await tx.run(
                "update sites set git_repo = $2, git_branch = 'main' where id = $1",
                self.pushed_site,
                REPOSITORY,
            )
        routes = await self._ask(
            "PUT",
            f"/v1/sites/{self.pushed_site}/branch-routes",
            {"rules": [], "roll_hook_secret": True},
            status=200,
        )
        self.hook_secret = routes["hook_secret"]

    async def restart(self, number: int) -> None:
        """With an idempotency key, and a repetition of the request, as a careful client does."""
        site = self.sites[number % len(self.sites)]
        headers = {"idempotency-key": f"restart-{number}"}
        path = f"/v1/sites/{site}/restart"
        first = await self._ask("POST", path, headers=headers)
        again = await self._ask("POST", path, headers=headers)
        assert first["id"] == again["id"]

    async def push(self, number: int) -> None:
        self.last_commit = f"{number + 1:040x}"
        payload = forges.github_push("refs/heads/main", self.last_commit, REPOSITORY)
        posted = forges.github(payload, self.hook_secret)
        answer = await self.forge.post(
            f"/hooks/git/{self.pushed_site}", content=posted.body, headers=posted.headers
        )
        assert answer.status_code == 202, answer.text

    async def invite(self, number: int) -> None:
        email = f"guest-{number}@example.com"
        body = {"role": "observer", "email": email}
        answer = await self.person.session.post(f"/v1/teams/{self.team}/invites", json=body)
        assert answer.status_code == 201, answer.text
        self.invited.append(email)

    async def _ask(
        self, method: str, path: str, body: object = None, *, status: int = 202, **more: Any
    ) -> dict[str, Any]:
        answer = await self.client.request(method, path, json=body, **more)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        return dict(answer.json()["data"])
