"""The steps that send a greeting: the node confirms that the environment answers; the event is published."""

from stead.control.greetings import events, jobs
from stead.control.greetings.jobs import GreetingWork

from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs.definition import (
    NodeCommand,
    Results,
    Workflow,
    control_step,
    node_step,
    record_nothing,
)
from stead.control.jobs.kinds import Job
from stead.control.outbox.events import publish
from stead.control.sites import node_commands
from stead.control.sites import service as sites
from stead.protocol.work.hosting import Probe


async def _probe(tx: Tx, job: Job[GreetingWork]) -> NodeCommand | None:
    environment = await environments.get(tx, job.env_id or "")
    return await node_commands.build_environment_command(tx, environment, Probe(environment.subdomain))


async def _finish(tx: Tx, job: Job[GreetingWork]) -> Results:
    facts = await sites.get_facts(tx, job.site_id)
    await publish(tx, events.GREETING_SENT, facts.about(job), domain=facts.domain, text=job.params.text)
    return {"env_id": job.env_id or ""}


SEND = Workflow(
    jobs.SEND, steps=[node_step("probe", _probe), control_step("finish", _finish)], failed=record_nothing
)
