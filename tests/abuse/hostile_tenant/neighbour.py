"""A customer with a busy site: visitors, API calls, deployments, builds, certificates, sign-ins."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from statistics import median, quantiles

from tests.abuse.hostile_tenant.person import Person
from tests.git_server import Repository
from tests.journeys import projects
from tests.journeys.visitor import Visitor

DOMAIN = "neighbour.example.com"
_names = count(1)


@dataclass
class Record:
    """How long each of the neighbour's activities took, and which failed."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def add(self, activity: str, seconds: float) -> None:
        self.seconds.setdefault(activity, []).append(seconds)

    def p50(self, activity: str) -> float:
        return median(self.seconds[activity])

    def percentile(self, activity: str, percent: int) -> float:
        values = self.seconds[activity]
        return quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]

    def worst(self, activity: str) -> float:
        return max(self.seconds[activity])


class Neighbour:
    """It deploys to one site and builds on another, because jobs of one environment wait for each other."""

    def __init__(self, person: Person, visitor: Visitor, repository: Repository) -> None:
        self.person, self._visitor, self._repository = person, visitor, repository
        self._workshop = ""
        """Where the API serves the environment on which builds run."""

    async def move_in(self) -> None:
        workshop = await self._create_site("workshop.example.com")
        self._workshop = f"{workshop}/environments/production"
        self.person.path = await self._create_site(DOMAIN)
        for words in ("the first page", "the second page"):
            await self._build(self.person.production, words, live=True)
            await self._visitor.until(DOMAIN, words)

    async def _create_site(self, domain: str) -> str:
        projects.write(self._repository, "the page before the first")
        body = {"domain": domain, "profile": "static", "git_repo": self._repository.url, "git_branch": "main"}
        job = await self.person.complete("POST", "/v1/sites", body)
        await self._visitor.until(domain, "the page before the first", within=120)
        return f"/v1/sites/{job['resource']['site_id']}"

    @asynccontextmanager
    async def active(self) -> AsyncIterator[Record]:
        """Do what a customer does, with the pauses of a customer, until the block ends."""
        record = Record()
        activities: list[tuple[str, Callable[[], Awaitable[None]], float]] = [
            ("visit", self._visit, 0.1),
            ("API read", self._read, 0.3),
            ("deployment", self._deploy, 2.0),
            ("build", self._rebuild, 15.0),
            ("new site with certificate", self._open_site, 20.0),
            ("sign-in", self._sign_in, 10.0),
        ]
        end = asyncio.Event()
        running = [asyncio.create_task(_repeat(record, end, *activity)) for activity in activities]
        try:
            yield record
        finally:
            end.set()
            await asyncio.gather(*running)

    async def _visit(self) -> None:
        answer = await self._visitor.get(DOMAIN)
        assert answer.status == 200, f"{answer.status} {answer.text[:200]}"

    async def _read(self) -> None:
        await self.person.read(self.person.path)

    async def _deploy(self) -> None:
        """Roll back to the release that is not live."""
        deployments = await self.person.read(f"{self.person.production}/deployments")
        live = next(each for each in deployments if each["status"] == "live")
        other = next(each for each in deployments if each["artifact_id"] != live["artifact_id"])
        await self.person.complete("POST", f"{self.person.production}/deployments/{other['id']}/rollback")

    async def _rebuild(self) -> None:
        await self._build(self._workshop, f"page {next(_names)}", live=False)

    async def _build(self, environment: str, words: str, *, live: bool) -> None:
        commit = projects.write(self._repository, words)
        body = {"builder": "static", "source_ref": "main", "commit": commit}
        job = await self.person.complete("POST", f"{environment}/builds", body)
        if live:
            artifact = {"artifact_id": job["result"]["artifact_id"]}
            await self.person.complete("POST", f"{environment}/deployments", artifact)

    async def _open_site(self) -> None:
        domain = f"shop-{next(_names)}.example.com"
        job = await self.person.complete("POST", "/v1/sites", {"domain": domain, "profile": "static"})
        await self._visitor.until(domain, "", within=120)
        path = f"/v1/sites/{job['resource']['site_id']}"
        await self.person.complete("DELETE", path, {"confirm_domain": domain})

    async def _sign_in(self) -> None:
        body = {"email": self.person.email, "password": self.person.password}
        response = await self.person.api.post("/v1/sessions", json=body)
        assert response.status_code == 201, response.text


async def _repeat(
    record: Record, end: asyncio.Event, activity: str, act: Callable[[], Awaitable[None]], pause: float
) -> None:
    while not end.is_set():
        began = time.monotonic()
        try:
            await act()
        except Exception as error:  # noqa: BLE001 - any failure of the neighbour is what the test is about
            record.failures.append(f"{activity}: {error!r}")
        else:
            record.add(activity, time.monotonic() - began)
        try:
            await asyncio.wait_for(end.wait(), pause)
        except TimeoutError:
            continue
