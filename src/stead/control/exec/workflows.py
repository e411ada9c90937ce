"""The step that runs a command. It has no undo: the platform does not know what a command does."""

from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.exec import jobs
from stead.control.exec.jobs import CommandWork
from stead.control.jobs.definition import NodeCommand, Workflow, node_step, record_nothing
from stead.control.jobs.kinds import Job
from stead.control.sites import node_commands
from stead.protocol.work.access import RunCommand


async def _run(tx: Tx, job: Job[CommandWork]) -> NodeCommand:
    wanted = job.params
    environment = await environments.get(tx, wanted.environment)
    work = RunCommand("cms", wanted.shell, (wanted.args,), wanted.restricted)
    return await node_commands.build_environment_command(tx, environment, work)


RUN_COMMAND = Workflow(jobs.RUN_COMMAND, steps=[node_step("run", _run)], failed=record_nothing)
