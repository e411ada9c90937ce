"""Creates sites, through the API or in the database, and performs their jobs without a worker."""

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


def new_domain(suffix: str = "example.com") -> str:
    """A domain that no site has."""
    return f"d{secrets.token_hex(6)}.{suffix}"


async def request_site(client: Client, domain: str | None = None, **body: Any) -> httpx.Response:
    headers = body.pop("headers", {})
    wanted = {"domain": domain or new_domain(), "profile": "static", **body}
    return await client.post("/v1/sites", json=wanted, headers=headers)


async def create_site(client: Client, domain: str | None = None, **body: Any) -> dict[str, Any]:
    """Creates a site and returns its representation. Its job is not performed."""
    response = await request_site(client, domain, **body)
    assert response.status_code == 202, response.text
    return await read_site(client, response.json()["data"]["resource"]["site_id"])


async def read_site(client: Client, site: str) -> dict[str, Any]:
    response = await client.get(f"/v1/sites/{site}")
    assert response.status_code == 200, response.text
    return dict(response.json()["data"])


async def request_deletion(client: Client, site: str, domain: str) -> httpx.Response:
    return await client.request("DELETE", f"/v1/sites/{site}", json={"confirm_domain": domain})


@dataclass
class SiteDriver:
    plane: ControlPlane
    announced: dict[str, EdgeRecord | None] = field(default_factory=dict)
    """The edge records that jobs have announced, by key."""

    async def insert_site(self, status: str = "running", **owner: Any) -> tuple[str, str]:
        """Inserts a site with this status, without a job. Returns its id and its domain."""
        async with self.plane.database.transaction() as tx:
            site = await teams.insert_site(tx, status=status, **owner)
            return site, await tx.value("select domain from sites where id = $1", site)

    async def end_jobs(self, site: str, status: str = "succeeded") -> None:
        await self.execute(
            "update jobs set status = $2 where site_id = $1 and status in ('queued', 'running')", site, status
        )

    async def set_status(self, site: str, status: str) -> None:
        await self.execute("update sites set status = $2 where id = $1", site, status)

    async def execute(self, sql: str, *args: object) -> None:
        async with self.plane.database.transaction() as tx:
            await tx.run(sql, *args)

    async def fetch_value(self, sql: str, *args: object) -> Any:
        async with self.plane.database.reading() as tx:
            return await tx.value(sql, *args)

    async def event_types(self, site: str) -> list[str]:
        async with self.plane.database.reading() as tx:
            sql = f"select type from events where site_id = $1 and {NOT_ON_THE_WAY} order by written"
            return await tx.all(str, sql, site)

    async def run_job(self, job: str) -> str:
        """Performs every step as a worker does, as if the nodes did their work. Returns the site's status."""
        activities = self._activities()
        row = await self.job_row(job)
        workflow = self._workflow(row)
        for name, step in workflow.steps.items():
            if step.control is not None:
                await activities._run_control(_Run(row, workflow, name), step.control)
            if step.command is not None:
                async with self.plane.database.transaction() as tx:
                    await step.command(tx, workflow.read(row))
            await self.announce(row, step.announce)
        await activities.finish(job, None)
        return str(await self.fetch_value("select status from sites where id = $1", row.site_id))

    async def run_first_step(self, job: str) -> None:
        """The first step must be a control step."""
        row = await self.job_row(job)
        workflow = self._workflow(row)
        name, step = next(iter(workflow.steps.items()))
        assert step.control is not None
        await self._activities()._run_control(_Run(row, workflow, name), step.control)

    async def fail_job(self, job: str, code: str) -> None:
        """Ends the job as failed, with nothing to undo."""
        await self._activities().finish(job, Failure(code, "It did not work."))

    async def undo_job(self, job: str) -> None:
        """Takes the announcements of a refused job back, in reverse order, and ends the job as failed."""
        row = await self.job_row(job)
        for step in reversed(self._workflow(row).steps.values()):
            await self.announce(row, step.undo_announce)
        await self._activities().finish(job, Failure("deploy.unhealthy", "It did not answer."))

    async def job_row(self, job: str) -> JobRow:
        async with self.plane.database.reading() as tx:
            row = await queue.get(tx, job)
        assert row is not None
        return row

    async def announce(self, row: JobRow, build: AnnouncementBuilder | None) -> None:
        if build is not None:
            async with self.plane.database.transaction() as tx:
                announcement = await build(tx, self._workflow(row).read(row))
            self.announced.update(announcement.records if announcement else {})

    def _activities(self) -> Activities:
        announcer = Announcer(self.plane.database, EdgeFeed(self.plane.nats), patience=1)
        gateway = Gateway(self.plane.nats, _ignore_heartbeat)
        return Activities(worker_context(self.plane), self.plane.context.workflows, gateway, announcer, DOCS)

    def _workflow(self, row: JobRow) -> Workflow[Any]:
        return self.plane.context.workflows.of(row)


def worker_context(plane: ControlPlane) -> WorkerContext:
    sealer = Sealer.from_text(plane.settings.sealing_key)
    return WorkerContext(plane.database, plane.context.objects, sealer, repositories=None)


async def _ignore_heartbeat(_: object) -> None:
    """No node runs here: node commands need a Temporal workflow."""
