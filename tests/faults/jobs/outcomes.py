"""What can be observed of a job that has ended, and of its site."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.faults.jobs.feed_records import announced_hosts
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.node import JournalEntry
from tests.faults.jobs.scenarios import OwnerSettings
from tests.teams import NOT_ON_THE_WAY


@dataclass
class Outcome:
    status: str
    error: dict[str, Any] | None
    result: dict[str, Any]
    site: dict[str, Any]
    environment: dict[str, Any]
    events: list[str]
    control_steps: set[str]
    node_steps: dict[str, JournalEntry]
    hosts: set[str]
    """The hosts that lead to the environment."""
    is_on_node: bool
    has_dataset: bool
    """Whether the node has the files and rows that the job has made; never for a live site."""
    settings: OwnerSettings
    shows: int
    domain: str
    """The domain that leads to production. The simulator knows only the one the site was created with."""

    @property
    def subject(self) -> dict[str, Any]:
        """What the job was about: the site, or an environment besides production."""
        return self.site if self.environment["type"] == "production" else self.environment

    @property
    def own_hosts(self) -> set[str]:
        """The hosts that have to lead to the environment when it is served."""
        subdomain = self.environment["subdomain"]
        return {self.domain, subdomain} if self.subject is self.site else {subdomain}


async def observe(harness: Harness, job: str) -> Outcome:
    (row,) = await harness.sql("select * from jobs where id = $1", job)
    (site,) = await harness.sql("select * from sites where id = $1", row["site_id"])
    (environment,) = await harness.sql(
        "select * from environments where case when $2::text is null"
        " then site_id = $1 and type = 'production' else id = $2 end",
        row["site_id"],
        # A push names the environment that it copies from, but is about production.
        None if row["type"] == "environment.push" else row["params"]["with"].get("environment"),
    )
    published = f"select type from events where job_id = $1 and {NOT_ON_THE_WAY} order by written"
    events = await harness.sql(published, job)
    alarms = await harness.sql("select from events where job_id = $1 and type = 'malware.detected'", job)
    assert len(alarms) <= 1, "the owner was told about the same malware twice"
    control_steps = await harness.sql("select step from job_steps where job_id = $1", job)
    live = site["mode"] == "live"
    return Outcome(
        status=row["status"],
        error=row["error"],
        result=row["result"],
        site=dict(site),
        environment=dict(environment),
        events=[event for (event,) in events],
        control_steps={step for (step,) in control_steps},
        node_steps=harness.node.steps(job),
        hosts=await announced_hosts(harness, site, environment)
        if live
        else harness.node.hosts(environment["id"]),
        is_on_node=harness.node.has_environment(environment["id"], live=live),
        has_dataset=any(map(job.endswith, harness.node.datasets(environment["id"]))),
        settings=await _settings(harness, site["id"], environment["id"]),
        shows=await _shown_artifact(harness, environment),
        domain=site["domain"] if live else await _first_domain(harness, site),
    )


async def _first_domain(harness: Harness, site: Mapping[str, Any]) -> str:
    rows = await harness.sql(
        "select hostname from domains where site_id = $1 order by id limit 1", site["id"]
    )
    return rows[0]["hostname"] if rows else str(site["domain"])


async def _shown_artifact(harness: Harness, environment: Mapping[str, Any]) -> int:
    """The artifact that visitors see, by its age. The live deployment must be of the same artifact."""
    release = environment["release"]
    live = await harness.sql(
        "select digest from deployments where env_id = $1 and status = 'live'", environment["id"]
    )
    assert [digest.removeprefix("sha256:") for (digest,) in live] == ([release] if release else [])
    # Deployments are read too: artifacts of a site that cannot be recovered are removed at any time.
    rows = await harness.sql(
        "select digest from (select id, digest from artifacts where site_id = $1"
        " union select artifact_id, digest from deployments where site_id = $1) known order by id",
        environment["site_id"],
    )
    names = [digest.removeprefix("sha256:") for (digest,) in rows]
    assert not release or release in names, f"{release} is none of the artifacts {names}"
    return names.index(release) + 1 if release else 0


async def _settings(harness: Harness, site: str, environment: str) -> OwnerSettings:
    configured = await harness.sql("select subject, settings from configurations where site_id = $1", site)
    settings = dict(configured)
    rows = await harness.sql("select rules from redirect_sets where site_id = $1", site)
    rules = rows[0]["rules"] if rows else []
    return OwnerSettings(settings.get(site, {}), settings.get(environment, {}), rules)
