"""Sites as these tests need them: created through the API, moved on in the database, looked at behind it."""

import secrets
from dataclasses import dataclass, field
from typing import Any

import httpx

from stead.control.app import ControlPlane
from stead.control.edge_feed.announcer import Announcer
from stead.control.edge_feed.feed import EdgeFeed
from stead.control.engines.temporal_workflow import Failure
from stead.control.jobs import queue
from stead.control.jobs.activities import Activities, _Run
from stead.control.jobs.definition import AnnouncementBuilder, WorkerContext, Workflow
from stead.control.jobs.kinds import JobRow
from stead.control.nodes.gateway import Gateway
from stead.control.sealing import Sealer
from stead.protocol.edge_records import EdgeRecord
from tests import teams
from tests.client import Client
from tests.teams import NOT_ON_THE_WAY

DOCS = "http://stead.test/docs"


def fresh(suffix: str = "example.com") -> str:
    """A domain that nobody has."""
    return f"d{secrets.token_hex(6)}.{suffix}"


async def create(client: Client, domain: str | None = None, **body: Any) -> httpx.Response:
    headers = body.pop("headers", {})
    wanted = {"domain": domain or fresh(), "profile": "static", **body}
    return await client.post("/v1/sites", json=wanted, headers=headers)


async def created(client: Client, domain: str | None = None, **body: Any) -> dict[str, Any]:
    """The site, as it is read back."""
    made = await create(client, domain, **body)
    assert made.status_code == 202, made.text
    return await read(client, made.json()["data"]["resource"]["site_id"])


async def read(client: Client, site: str) -> dict[str, Any]:
    found = await client.get(f"/v1/sites/{site}")
    assert found.status_code == 200, found.text
    return dict(found.json()["data"])


async def delete(client: Client, site: str, domain: str) -> httpx.Response:
    return await client.request("DELETE", f"/v1/sites/{site}", json={"confirm_domain": domain})


@dataclass
class Estate:
    plane: ControlPlane
    announced: dict[str, EdgeRecord | None] = field(default_factory=dict)
    """What the edges have been told, by key."""

    async def site(self, status: str = "running", **owner: Any) -> tuple[str, str]:
        """A site in this state, without a job, and its domain."""
        async with self.plane.database.transaction() as tx:
            site = await teams.insert_site(tx, status=status, **owner)
            return site, await tx.value("select domain from sites where id = $1", site)

    async def end_jobs(self, site: str, status: str = "succeeded") -> None:
        await self.run(
            "update jobs set status = $2 where site_id = $1 and status in ('queued', 'running')", site, status
        )

    async def become(self, site: str, status: str) -> None:
        await self.run("update sites set status = $2 where id = $1", site, status)

    async def run(self, sql: str, *args: object) -> None:
        async with self.plane.database.transaction() as tx:
            await tx.run(sql, *args)

    async def value(self, sql: str, *args: object) -> Any:
        async with self.plane.database.reading() as tx:
            return await tx.value(sql, *args)

    async def events(self, site: str) -> list[str]:
        async with self.plane.database.reading() as tx:
            told = f"select type from events where site_id = $1 and {NOT_ON_THE_WAY} order by written"
            return await tx.all(str, told, site)

    async def perform(self, job: str) -> str:
        """Every step, as a worker does it and as if nodes did what they are asked. The status of its site."""
        activities = self._activities()
        row = await self._row(job)
        workflow = self._workflow(row)
        for name, step in workflow.steps.items():
            if step.control is not None:
                await activities._run_control(_Run(row, workflow, name), step.control)
            if step.command is not None:
                async with self.plane.database.transaction() as tx:
                    await step.command(tx, workflow.read(row))
            await self._announce(row, step.announce)
        await activities.finish(job, None)
        return str(await self.value("select status from sites where id = $1", row.site_id))

    async def begin(self, job: str) -> None:
        """Its first step alone, which is a transaction."""
        row = await self._row(job)
        workflow = self._workflow(row)
        name, step = next(iter(workflow.steps.items()))
        assert step.control is not None
        await self._activities()._run_control(_Run(row, workflow, name), step.control)

    async def fail(self, job: str, code: str) -> None:
        """It ends so, with nothing to undo."""
        await self._activities().finish(job, Failure(code, "It did not work."))

    async def undo(self, job: str) -> None:
        """What a refused job does last: its announcements are taken back, in reverse, and it fails."""
        row = await self._row(job)
        for step in reversed(self._workflow(row).steps.values()):
            await self._announce(row, step.undo_announce)
        await self._activities().finish(job, Failure("deploy.unhealthy", "It did not answer."))

    def _activities(self) -> Activities:
        announcer = Announcer(self.plane.database, EdgeFeed(self.plane.nats), patience=1)
        gateway = Gateway(self.plane.nats, _unheard)
        return Activities(worker_context(self.plane), self.plane.context.workflows, gateway, announcer, DOCS)

    def _workflow(self, row: JobRow) -> Workflow[Any]:
        return self.plane.context.workflows.of(row)

    async def _row(self, job: str) -> JobRow:
        async with self.plane.database.reading() as tx:
            row = await queue.get(tx, job)
        assert row is not None
        return row

    async def _announce(self, row: JobRow, tell: AnnouncementBuilder | None) -> None:
        if tell is not None:
            async with self.plane.database.transaction() as tx:
                announcement = await tell(tx, self._workflow(row).read(row))
            self.announced.update(announcement.records if announcement else {})


def worker_context(plane: ControlPlane) -> WorkerContext:
    """What a worker would have at hand."""
    return WorkerContext(plane.database, plane.context.objects, Sealer.from_text(plane.settings.sealing_key))


async def _unheard(_: object) -> None:
    """No node speaks here: asking one needs a workflow."""
