"""The jobs of domains: their steps, each next to its undo."""

from stead.control.domains import jobs
from stead.control.domains import service as domains
from stead.control.domains.jobs import AttachWork, PrimaryWork
from stead.control.domains.rules import DomainNotVerified
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs.definition import (
    Announcement,
    NodeCommand,
    Refused,
    Results,
    Workflow,
    announce_step,
    control_step,
    node_step,
    record_nothing,
)
from stead.control.jobs.kinds import Job
from stead.control.sites import node_commands
from stead.protocol.work.hosting import Probe

AttachJob = Job[AttachWork]
PrimaryJob = Job[PrimaryWork]


async def _serve(tx: Tx, job: AttachJob) -> Announcement | None:
    """Names that are not verified yet are not announced; the verifier announces them later."""
    return await announcements.serve_environment(tx, job.params.environment)


async def _withdraw(tx: Tx, job: AttachJob) -> Announcement | None:
    claims = await domains.list_claims(tx, job.params.domains)
    return await announcements.withdraw_names(tx, [claim for claim in claims if claim.status == "verified"])


async def _probe_attached(tx: Tx, job: AttachJob) -> NodeCommand | None:
    """The environment still answers."""
    env = await environments.get(tx, job.params.environment)
    if env.status != "running":
        return None
    return await node_commands.build_command_if_placed(tx, env, Probe(env.subdomain))


async def _finish_attaching(tx: Tx, job: AttachJob) -> Results:
    env = await environments.get(tx, job.params.environment)
    await domains.complete_attachment(tx, job.params.domains, job.id)
    return {"url": f"https://{await domains.choose_host(tx, env.id, env.subdomain)}/", "env_id": env.id}


async def _attaching_failed(tx: Tx, job: AttachJob, reason: str) -> None:
    await domains.abandon_attachment(tx, job.params.domains, reason, job.id)


async def _change_primary(tx: Tx, job: PrimaryJob) -> None:
    (claim,) = await domains.list_claims(tx, [job.params.domain]) or (None,)
    if claim is None or claim.status != "verified":
        raise Refused(DomainNotVerified.code, "The site does not have the domain any more.")
    await domains.set_primary(tx, job.site_id, claim.id)


async def _announce_change(tx: Tx, job: PrimaryJob) -> Announcement | None:
    await _change_primary(tx, job)
    return await announcements.serve_site(tx, job.site_id)


async def _announce_former(tx: Tx, job: PrimaryJob) -> Announcement | None:
    await domains.set_primary(tx, job.site_id, job.params.previous)
    return await announcements.serve_site(tx, job.site_id)


async def _probe_primary(tx: Tx, job: PrimaryJob) -> NodeCommand | None:
    env = await environments.get_production(tx, job.site_id)
    if env.status != "running":
        return None
    return await node_commands.build_command_if_placed(tx, env, Probe(env.subdomain))


async def _finish_change(tx: Tx, job: PrimaryJob) -> Results:
    env = await environments.get_production(tx, job.site_id)
    await domains.publish_primary(tx, job.params.domain, job.id)
    return {"url": f"https://{await domains.choose_host(tx, env.id, env.subdomain)}/", "env_id": env.id}


ATTACH = Workflow(
    jobs.ATTACH,
    steps=[
        announce_step("route", _serve, undo=_withdraw),
        node_step("probe", _probe_attached),
        control_step("done", _finish_attaching),
    ],
    failed=_attaching_failed,
)

MAKE_PRIMARY = Workflow(
    jobs.MAKE_PRIMARY,
    steps=[
        announce_step("route", _announce_change, undo=_announce_former),
        node_step("probe", _probe_primary),
        control_step("done", _finish_change),
    ],
    failed=record_nothing,
)
