"""The step that makes many changes to content. It has no undo: WordPress keeps revisions and a trash."""

from stead.control.content import jobs
from stead.control.content.jobs import ContentWork
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs.definition import NodeCommand, Workflow, node_step, record_nothing
from stead.control.jobs.kinds import Job
from stead.control.sites import node_commands
from stead.protocol.work.cms import ChangeContent, SiteChange


async def _change(tx: Tx, job: Job[ContentWork]) -> NodeCommand:
    environment = await environments.get(tx, job.params.environment)
    sealed = SiteChange("sealed", job.params.changes.encode())
    work = ChangeContent("cms", (sealed,))
    return await node_commands.build_environment_command(tx, environment, work)


BATCH = Workflow(jobs.BATCH, steps=[node_step("change", _change)], failed=record_nothing)
