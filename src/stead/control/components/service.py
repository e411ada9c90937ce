"""Reads and changes the components of a site."""

from collections.abc import Sequence

from msgspec import UNSET

from stead.control.components.jobs import CHANGE, INSTALL, Change, ComponentWork
from stead.control.components.rules import (
    ComponentFixed,
    ComponentInGit,
    ComponentNotFound,
    ComponentVulnerable,
    is_slug,
    kind_of,
    may_read,
    require_scope,
    require_slug,
    require_version,
)
from stead.control.components.schema import (
    ComponentBatch,
    ComponentFilter,
    ComponentUpdate,
    ComponentView,
    NewComponent,
    SiteComponent,
    SiteComponents,
)
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import EnvironmentBusy, VisibleEnvironment
from stead.control.http.operations import Call, Later
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs import service as jobs
from stead.control.jobs.kinds import JobKind
from stead.control.jobs.schema import JobView
from stead.control.sites import questions
from stead.control.sites.question_pages import page_of
from stead.control.sites.question_rules import SiteAnswerInvalid
from stead.control.sites.rules import require_changeable
from stead.control.uploads import service as uploads
from stead.control.vulnerabilities import service as vulnerabilities
from stead.protocol.work.cms import ComponentAction
from stead.shared.component_versions import version_key
from stead.shared.errors import CapabilityUnsupported, FieldInvalid

WRITE = {"plugin": "cms.plugins:write", "theme": "cms.themes:write"}
_REGISTRY, _LATEST = "registry", "latest"


async def browse(
    call: Call, env: VisibleEnvironment, query: ComponentFilter, page: PageRequest
) -> Later[Page[ComponentView]]:
    """Of the kinds that the caller may read."""
    if query.kind is not None:
        require_scope(call.caller, env.role, query.kind, "read")
    site = await questions.prepare(call.tx, call.context, env)

    async def ask() -> Page[ComponentView]:
        found = await site.ask("components.list", SiteComponents, None)
        chosen = [
            _view(each, env)
            for each in found.components
            if query.kind in (None, each.kind)
            and query.status in (None, each.status)
            and may_read(call.caller, env.role, each.kind)
        ]
        return page_of(chosen, page, lambda each: f"{each.kind}/{each.slug}/{each.id}")

    return Later(ask)


def _view(found: SiteComponent, env: VisibleEnvironment) -> ComponentView:
    return ComponentView(
        *(found.id, found.kind, found.type, found.slug, found.name, found.version, found.status),
        *(found.update_available, env.site_id, env.id),
    )


async def install(call: Call, env: VisibleEnvironment, wanted: NewComponent) -> JobView:
    require_scope(call.caller, env.role, wanted.kind, "write")
    _require_possible(env)
    if wanted.kind == "module":
        raise CapabilityUnsupported(capability="components.modules")
    require_slug(wanted.slug, "slug")
    upload = "" if wanted.source == _REGISTRY else wanted.source
    if upload and not await uploads.belongs_to_site(call.tx, upload, env.site_id):
        raise FieldInvalid(
            param="source", reason="`source` must be `registry`, or the id of an upload of this site."
        )
    if upload and wanted.version != _LATEST:
        raise FieldInvalid(param="version", reason="An upload has one version; leave `version` out.")
    change = Change(
        *("install", wanted.kind, wanted.slug, _version(wanted.version, "version"), upload),
        activate=wanted.activate,
        force=wanted.force,
    )
    return await _enqueue(call.tx, INSTALL, env, [change], WRITE[wanted.kind])


async def update(
    call: Call, env: VisibleEnvironment, component: str, wanted: ComponentUpdate
) -> Later[JobView]:
    kind = kind_of(component)
    require_scope(call.caller, env.role, kind, "write")
    _require_possible(env)
    if wanted.version is UNSET and wanted.status is UNSET:
        raise FieldInvalid(reason="Give a `version`, a `status`, or both.")
    version = "" if wanted.version is UNSET else _version(wanted.version, "version")
    site = await questions.prepare(call.tx, call.context, env)

    async def enqueue(tx: Tx, found: SiteComponents) -> JobView:
        known = _find(found, component)
        changes = []
        if wanted.version is not UNSET:
            changes.append(Change("update", kind, known.slug, version, force=wanted.force))
        if wanted.status is not UNSET:
            action: ComponentAction = "activate" if wanted.status == "active" else "deactivate"
            changes.append(Change(action, kind, known.slug))
        return await _enqueue(tx, CHANGE, env, changes, WRITE[kind])

    return Later(site.asking("components.list", SiteComponents, None), enqueue)


async def delete(call: Call, env: VisibleEnvironment, component: str) -> Later[JobView]:
    kind = kind_of(component)
    require_scope(call.caller, env.role, kind, "write")
    _require_possible(env)
    site = await questions.prepare(call.tx, call.context, env)

    async def enqueue(tx: Tx, found: SiteComponents) -> JobView:
        known = _find(found, component)
        if kind == "theme" and known.status == "active":
            raise ComponentFixed(reason="it is the active theme.")
        return await _enqueue(tx, CHANGE, env, [Change("delete", kind, known.slug)], WRITE[kind])

    return Later(site.asking("components.list", SiteComponents, None), enqueue)


async def change_many(call: Call, env: VisibleEnvironment, wanted: ComponentBatch) -> JobView:
    for each in wanted.operations:
        require_scope(call.caller, env.role, each.kind, "write")
        if each.kind == "module":
            raise CapabilityUnsupported(capability="components.modules")
    _require_possible(env)
    changes = []
    for number, each in enumerate(wanted.operations):
        place = f"operations.{number}"
        require_slug(each.slug, f"{place}.slug")
        version = "" if each.version is UNSET else _version(each.version, f"{place}.version")
        changes.append(Change(each.action, each.kind, each.slug, version, force=each.force))
    return await _enqueue(call.tx, CHANGE, env, changes, WRITE[wanted.operations[0].kind])


def _require_possible(env: VisibleEnvironment) -> None:
    require_changeable(env.site_status)
    if env.git_repo is not None:
        raise ComponentInGit
    if env.status != "running":
        raise EnvironmentBusy(status=env.status)


def _find(found: SiteComponents, component: str) -> SiteComponent:
    known = next((each for each in found.components if each.id == component), None)
    if known is None:
        raise ComponentNotFound
    if known.type != "regular":
        raise ComponentFixed(reason="it is a must-use plugin or a drop-in.")
    if not is_slug(known.slug):
        raise SiteAnswerInvalid(reason="the component has no valid slug")
    return known


def _version(text: str, param: str) -> str:
    """Empty for the latest one."""
    require_version(text, param)
    return "" if text == _LATEST else text


async def _enqueue(
    tx: Tx, kind: JobKind[ComponentWork], env: VisibleEnvironment, changes: Sequence[Change], scope: str
) -> JobView:
    for each in changes:
        await _require_not_vulnerable(tx, each)
    subject = jobs.Subject(env.site_id, env.owner, env_id=env.id)
    return await jobs.enqueue(tx, kind, ComponentWork(env.id, list(changes)), subject, scope=scope)


async def _require_not_vulnerable(tx: Tx, change: Change) -> None:
    """The node checks the version of an upload, and which one is the latest."""
    key = version_key(change.version)
    if change.force or key is None:
        return
    for each in await vulnerabilities.list_affected(tx, change.kind, change.slug):
        if each.contains(key):
            fixed = f" It is fixed in {each.fixed_version}." if each.fixed_version else ""
            raise ComponentVulnerable(reason=f"{each.title}.{fixed}")
