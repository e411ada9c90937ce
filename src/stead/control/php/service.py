"""Previews and queues a switch of the version of PHP, inside the caller's transaction."""

from collections.abc import Sequence

from stead.control.engines.postgres import Tx
from stead.control.jobs import service as jobs
from stead.control.jobs.schema import JobView
from stead.control.php import store
from stead.control.php.constraints import allows
from stead.control.php.jobs import SWITCH, PhpWork
from stead.control.php.rules import PROJECT, PhpForbidden, SwitchedEnvironment
from stead.control.php.schema import Lockfile, PhpSwitch, PhpSwitchPreview, PreviewedEnvironment
from stead.control.sites import service as sites
from stead.control.sites.rules import SiteBusy, VisibleSite
from stead.protocol.work.builds import PhpRequirement
from stead.shared.errors import CapabilityUnsupported


async def switch(tx: Tx, site: VisibleSite, wanted: PhpSwitch) -> JobView | PhpSwitchPreview:
    if site.runtime != "cms":
        raise CapabilityUnsupported(capability="versions of PHP")
    if site.status in ("provisioning", "deleting", "deleted"):
        raise SiteBusy(status=site.status)
    now = await sites.get_php_version(tx, site.id)
    switched = await store.list_switched(tx, site.id)
    if wanted.dry_run:
        return _preview(switched, now, wanted)
    if not wanted.force:
        _require_allowed(switched, now, wanted.version)
    work = PhpWork(wanted.version, wanted.force)
    return await jobs.enqueue(tx, SWITCH, work, jobs.Subject(site.id, site.owner), scope="sites:write")


def _require_allowed(switched: Sequence[SwitchedEnvironment], now: str | None, version: str) -> None:
    for env in switched:
        if forbidding := env.find_forbidding(now, version):
            raise PhpForbidden(
                host=env.subdomain,
                version=version,
                package=forbidding.package or PROJECT,
                constraint=forbidding.constraint,
            )


def _preview(switched: Sequence[SwitchedEnvironment], now: str | None, wanted: PhpSwitch) -> PhpSwitchPreview:
    shown = [
        PreviewedEnvironment(env.id, env.type, env.branch, _describe(env, now, wanted.version))
        for env in switched
    ]
    described = [env.lockfile for env in shown if env.lockfile is not None]
    forbidding = next((each for each in described if not each.allows), None)
    return PhpSwitchPreview(
        from_=now,
        to=wanted.version,
        from_image=None if now is None else f"php{now}",
        to_image=f"php{wanted.version}",
        environments=shown,
        lockfile=forbidding or next(iter(described), None),
        would_apply=forbidding is None or wanted.force,
    )


def _describe(env: SwitchedEnvironment, now: str | None, version: str) -> Lockfile | None:
    """The requirement that forbids the version, or else the first one."""
    if forbidding := env.find_forbidding(now, version):
        return _lockfile(forbidding, allowed=False)
    known = [each for each in env.requirements if allows(each.constraint, version) is not None]
    return _lockfile(known[0], allowed=True) if known else None


def _lockfile(requirement: PhpRequirement, *, allowed: bool) -> Lockfile:
    return Lockfile(requirement.constraint, requirement.package or PROJECT, allowed)
