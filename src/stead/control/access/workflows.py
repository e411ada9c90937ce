"""The steps of jobs that change access to a site."""

from stead.control.access import jobs, lists, service
from stead.control.access.jobs import ApplyKeysWork, PasswordWork
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs.definition import NodeCommand, Workflow, control_step, node_step, record_nothing
from stead.control.jobs.kinds import Job
from stead.control.sites import node_commands
from stead.protocol.work.access import SetPassword


async def _set_password(tx: Tx, job: Job[PasswordWork]) -> NodeCommand:
    wanted = job.params
    environment = await environments.get(tx, wanted.environment)
    work = SetPassword("cms", wanted.user, wanted.password_hash)
    return await node_commands.build_environment_command(tx, environment, work)


RESET_ADMIN_PASSWORD = Workflow(
    jobs.RESET_ADMIN_PASSWORD,
    # No undo: the earlier password is not known.
    steps=[node_step("password", _set_password)],
    failed=record_nothing,
)


async def _update_lists(tx: Tx, job: Job[ApplyKeysWork]) -> None:
    await lists.update_lists(tx, job.site_id)


async def _confirm_keys(tx: Tx, job: Job[ApplyKeysWork]) -> None:
    await service.require_delivered(tx, job.site_id)


APPLY_KEYS = Workflow(
    jobs.APPLY_KEYS,
    # No undo: the list changes in the transaction of the request, and nodes get it from the publisher. A key
    # that was removed must not open anything while the job waits in the queue.
    steps=[control_step("update", _update_lists), control_step("confirm", _confirm_keys)],
    failed=record_nothing,
)
