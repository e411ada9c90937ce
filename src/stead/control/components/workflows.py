"""The steps that change plugins and themes. The node itself brings a component back after which the site does
not answer, so that visitors wait for nobody else."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Literal, cast

from stead.control.backups.snapshot_steps import build_snapshot_steps
from stead.control.components import jobs
from stead.control.components.jobs import Change, ComponentWork
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import Environment
from stead.control.jobs.definition import NodeCommand, Step, Workflow, node_step, record_nothing
from stead.control.jobs.kinds import Job, JobKind
from stead.control.sites import node_commands
from stead.control.uploads.rules import object_name
from stead.control.vulnerabilities import service as vulnerabilities
from stead.protocol.work import AffectedVersions, ChangeComponents, ComponentChange
from stead.shared.ids import UploadId

ComponentJob = Job[ComponentWork]
_MAX_BYTES, _OTHER_BYTES = 30_000, 200
"""For what is known about the vulnerabilities of a component; and of a range, without its title."""


async def _find_production(tx: Tx, job: ComponentJob) -> Environment | None:
    """Only production is copied: other environments are copies themselves."""
    environment = await environments.get(tx, job.params.environment)
    return environment if environment.type == "production" else None


async def _change(tx: Tx, job: ComponentJob) -> NodeCommand:
    environment = await environments.get(tx, job.params.environment)
    changes = [await _build_change(tx, each) for each in job.params.changes]
    work = ChangeComponents("cms", tuple(changes), environment.subdomain)
    return await node_commands.build_environment_command(tx, environment, work)


async def _build_change(tx: Tx, wanted: Change) -> ComponentChange:
    refused: Sequence[AffectedVersions] = ()
    if wanted.action in ("install", "update") and not wanted.force:
        refused = _fit(await vulnerabilities.list_affected(tx, wanted.kind, wanted.slug))
    return ComponentChange(
        wanted.action,
        cast("Literal['plugin', 'theme']", wanted.kind),
        wanted.slug,
        wanted.version,
        object_name(UploadId(wanted.upload)) if wanted.upload else "",
        wanted.activate,
        tuple(refused),
    )


def _fit(affected: Sequence[AffectedVersions]) -> list[AffectedVersions]:
    """As many as fit into a message with those of other changes. The ones about the latest versions come
    first."""
    sizes = accumulate(len(each.title.encode()) + _OTHER_BYTES for each in affected)
    return [each for each, size in zip(affected, sizes, strict=True) if size <= _MAX_BYTES]


def _steps() -> list[Step]:
    return [
        *build_snapshot_steps("before_update", _find_production, need="if_supported"),
        # No undo: the node has brought back what does not work, and everything else was asked for.
        node_step("change", _change),
    ]


def _workflow(kind: JobKind[ComponentWork]) -> Workflow[ComponentWork]:
    return Workflow(kind, steps=_steps(), failed=record_nothing)


INSTALL = _workflow(jobs.INSTALL)
CHANGE = _workflow(jobs.CHANGE)
