"""Queues a command, inside the caller's transaction."""

import base64

import msgspec

from stead.control.engines.postgres import Tx
from stead.control.environments.rules import EnvironmentBusy, VisibleEnvironment
from stead.control.exec.jobs import RUN_COMMAND, CommandWork
from stead.control.exec.rules import may_run_anything, require_allowed
from stead.control.exec.schema import NewCommand
from stead.control.http.principal import Principal
from stead.control.jobs import service as jobs
from stead.control.jobs.presigning import command_context
from stead.control.jobs.schema import JobView
from stead.control.sealing import Sealer
from stead.control.sites.rules import require_changeable
from stead.shared.errors import FieldInvalid

MAX_BYTES = 128 << 10
"""Of all arguments. A message to a node is limited too."""


async def run(
    tx: Tx, caller: Principal, sealer: Sealer, env: VisibleEnvironment, wanted: NewCommand
) -> JobView:
    if sum(len(each.encode()) for each in wanted.args) > MAX_BYTES:
        raise FieldInvalid(param="args", reason=f"They must not be longer than {MAX_BYTES} bytes in total.")
    require_allowed(caller, env.role, wanted.shell, wanted.args)
    require_changeable(env.site_status)
    if env.status != "running":
        raise EnvironmentBusy(status=env.status)
    sealed = sealer.seal(msgspec.json.encode(wanted.args), context=command_context(env.site_id))
    work = CommandWork(
        env.id,
        wanted.shell,
        base64.b64encode(sealed).decode(),
        restricted=not may_run_anything(caller, env.role),
    )
    subject = jobs.Subject(env.site_id, env.owner, env_id=env.id)
    return await jobs.enqueue(tx, RUN_COMMAND, work, subject, scope="cms.cli:exec")
