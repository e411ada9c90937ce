"""The use cases of functions, each inside the caller's transaction."""

from datetime import timedelta
from typing import Any

import msgspec

from stead.control.artifacts import service as artifacts
from stead.control.artifacts.rules import ArtifactNotFound
from stead.control.builds import service as builds
from stead.control.builds.rules import FunctionSource
from stead.control.deployments import service as deployments
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.functions import jobs as kinds
from stead.control.functions import store, validation
from stead.control.functions.events import (
    FUNCTION_CREATED,
    FUNCTION_DELETED,
    FUNCTION_FAILED,
    FUNCTION_UPDATED,
)
from stead.control.functions.jobs import FunctionDeployment, FunctionRemoval
from stead.control.functions.rules import (
    FILENAMES,
    MOST_FUNCTIONS,
    MOST_WITH_DELETED,
    BuildState,
    Function,
    FunctionNotFound,
    FunctionsExhausted,
    RouteTaken,
    SecretMissing,
    ServiceMissing,
    SlugTaken,
    SourceMissing,
    Version,
    VersionNotFound,
    VisibleFunction,
    route_of,
)
from stead.control.functions.schema import (
    Binding,
    FunctionChange,
    FunctionVersionView,
    FunctionView,
    NewFunction,
    NewFunctionBuild,
)
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.jobs import service as jobs
from stead.control.jobs.definition import Refused
from stead.control.jobs.kinds import JobKind
from stead.control.jobs.schema import QueuedJob
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, Fact, publish
from stead.control.plans import service as plans
from stead.control.secrets import service as secrets
from stead.control.secrets.rules import secret_name
from stead.control.sites import service as sites
from stead.control.sites.rules import VisibleSite, require_changeable
from stead.protocol.edge_records import FunctionRoute
from stead.protocol.work.functions import EnsureFunction, FunctionBinding, FunctionLimits
from stead.shared.errors import CapabilityUnsupported, RoleInsufficient
from stead.shared.ids import has_shape
from stead.shared.roles import MASK

SCOPE = "functions:write"
RETRY_REMOVAL_AFTER = timedelta(minutes=15)
BATCH_SIZE = 100


async def visible_function(call: Call, function_id: str) -> VisibleFunction:
    found = await store.find(call.tx, call.caller, function_id) if has_shape("fn", function_id) else None
    if found is None:
        raise FunctionNotFound
    return found


async def browse(tx: Tx, caller: Principal, page: PageRequest) -> Page[FunctionView]:
    return await store.page(tx, caller, page)


async def browse_site(tx: Tx, site: VisibleSite, page: PageRequest) -> Page[FunctionView]:
    return await store.page_of_site(tx, site, page)


async def browse_versions(tx: Tx, function: VisibleFunction, page: PageRequest) -> Page[FunctionVersionView]:
    return await store.page_versions(tx, function, page)


async def view(tx: Tx, function: str) -> FunctionView:
    found = await store.view(tx, function)
    if found is None:
        raise FunctionNotFound
    return found


async def create(tx: Tx, caller: Principal, new: NewFunction) -> tuple[VisibleSite, FunctionView]:
    site = await _find_site(tx, caller, new.site_id)
    validation.require_language(new.language)
    validation.require_source(new.source, new.upload_id)
    compatibility_date = new.compatibility_date or tx.now.date().isoformat()
    validation.require_compatibility_date(compatibility_date, tx.now.date())
    await store.lock_site(tx, site.id)
    waiting = await store.count_with_deleted(tx, site.id) >= MOST_WITH_DELETED
    if waiting or await store.count(tx, site.id) >= MOST_FUNCTIONS:
        raise FunctionsExhausted(limit=MOST_FUNCTIONS)
    await _validate(tx, site.id, "", new.slug, new.route_path, msgspec.structs.asdict(new))
    filename = (new.filename or FILENAMES[new.language]) if new.source else new.filename
    function = await store.insert(tx, new, filename=filename, compatibility_date=compatibility_date)
    await _publish(tx, await get(tx, function), FUNCTION_CREATED)
    if new.source is not None or new.upload_id is not None:
        made = await get(tx, function)
        await _enqueue_build(tx, made, upload=new.upload_id, auto_deploy=new.auto_deploy)
    return site, await view(tx, function)


async def _find_site(tx: Tx, caller: Principal, site_id: str) -> VisibleSite:
    """The site in a body, with the checks that a site in a path gets."""
    site = await sites.find(tx, caller, site_id)
    if SCOPE not in MASK[site.role]:
        raise RoleInsufficient(role=site.role)
    if not site.supports("functions"):
        raise CapabilityUnsupported(capability="functions")
    require_changeable(site.status)
    return site


async def _validate(
    tx: Tx, site: str, function: str, slug: str, route_path: str, settings: dict[str, Any]
) -> None:
    """Check settings that depend on each other, or on the other functions of the site."""
    bindings: list[Binding] = settings["bindings"]
    validation.require_route(route_path)
    validation.require_bindings(bindings, slug)
    validation.require_variables(settings["env"], settings["secret_refs"], bindings)
    others = await store.measure_settings_of_others(tx, site, function)
    validation.require_small_settings(settings["env"], bindings, others)
    path = route_of(slug, route_path)
    for other_slug, other_route in await store.list_routes_of_others(tx, site, function):
        if other_slug == slug:
            raise SlugTaken(param="slug", slug=slug)
        if route_of(other_slug, other_route) == path:
            raise RouteTaken(param="route_path", path=path or "/")


async def update(tx: Tx, function: VisibleFunction, wanted: FunctionChange) -> FunctionView:
    require_changeable(function.site_status)
    await store.lock_site(tx, function.site_id)
    current = await view(tx, function.id)
    changes = {
        name: value
        for name in wanted.__struct_fields__
        if (value := getattr(wanted, name)) is not msgspec.UNSET
    }
    merged = {**msgspec.structs.asdict(current), **changes}
    if "compatibility_date" in changes:
        validation.require_compatibility_date(merged["compatibility_date"], tx.now.date())
    await _validate(tx, function.site_id, function.id, function.slug, merged["route_path"], merged)
    await store.update(tx, function.id, {name: msgspec.to_builtins(value) for name, value in changes.items()})
    await _publish(tx, await get(tx, function.id), FUNCTION_UPDATED)
    return await view(tx, function.id)


async def build(tx: Tx, visible: VisibleFunction, wanted: NewFunctionBuild) -> QueuedJob:
    require_changeable(visible.site_status)
    function = await get(tx, visible.id)
    validation.require_language(function.language)
    validation.require_source(wanted.source, wanted.upload_id)
    if wanted.source is not None or wanted.upload_id is not None:
        default = FILENAMES[function.language] if wanted.source is not None else None
        await store.set_source(tx, function.id, wanted.source, wanted.filename or default)
        function = await get(tx, visible.id)
    return await _enqueue_build(tx, function, upload=wanted.upload_id, auto_deploy=wanted.auto_deploy)


async def _enqueue_build(tx: Tx, function: Function, *, upload: str | None, auto_deploy: bool) -> QueuedJob:
    if function.source is None and upload is None:
        raise SourceMissing
    production = await environments.get_production(tx, function.site_id)
    source = FunctionSource(
        function.filename, function.source, function.language, function.compatibility_date
    )
    job = await builds.enqueue_function(
        tx, function.site_id, production.id, function.id, source, upload=upload, auto_deploy=auto_deploy
    )
    await store.set_build_job(tx, function.id, job.id)
    await store.set_state(tx, function.id, "building")
    return QueuedJob.of(job)


async def deploy(tx: Tx, visible: VisibleFunction, artifact_id: str) -> QueuedJob:
    require_changeable(visible.site_status)
    return await enqueue_deployment(tx, await get(tx, visible.id), artifact_id)


async def enqueue_deployment(tx: Tx, function: Function, artifact_id: str) -> QueuedJob:
    found = await store.find_artifact(tx, function.id, artifact_id) if has_shape("art", artifact_id) else None
    if found is None:
        raise ArtifactNotFound(param="artifact_id")
    # Before anything is written: a build that catches the refusal commits.
    production = await _require_ready(tx, function)
    version = await store.insert_version(tx, function.id, *found)
    return await _enqueue(tx, function, production, kinds.DEPLOY, version)


async def rollback(tx: Tx, visible: VisibleFunction, version_id: str) -> QueuedJob:
    require_changeable(visible.site_status)
    function = await get(tx, visible.id)
    version = await store.find_version(tx, function.id, version_id) if has_shape("fnv", version_id) else None
    if version is None:
        raise VersionNotFound(param="version_id")
    production = await _require_ready(tx, function)
    return await _enqueue(tx, function, production, kinds.ROLLBACK, version.id)


async def _require_ready(tx: Tx, function: Function) -> str:
    """The production environment of its site, if something can be deployed to it now."""
    production = await environments.get_production(tx, function.site_id)
    await deployments.get_ready_target(tx, production.id)
    await environments.require_unlocked(tx, production.id)
    await jobs.require_room(tx, function.owner)
    return production.id


async def _enqueue(
    tx: Tx, function: Function, production: str, kind: JobKind[FunctionDeployment], version: str
) -> QueuedJob:
    work = FunctionDeployment(function.id, version)
    return QueuedJob.of(await jobs.enqueue(tx, kind, work, _subject(function, production), scope=SCOPE))


def _subject(function: Function, production: str) -> jobs.Subject:
    return jobs.Subject(
        function.site_id, function.owner, env_id=production, id=function.id, extra={"slug": function.slug}
    )


async def delete(tx: Tx, visible: VisibleFunction) -> None:
    """It is gone for callers at once. A job removes it from the edges and its node."""
    function = await get(tx, visible.id)
    await store.mark_deleted(tx, function.id)
    await _publish(tx, function, FUNCTION_DELETED)
    await enqueue_removal(tx, function.id)


async def enqueue_removal(tx: Tx, function_id: str) -> None:
    function = await get(tx, function_id)
    production = await environments.get_production(tx, function.site_id)
    work, subject = FunctionRemoval(function.id), _subject(function, production.id)
    await jobs.enqueue(tx, kinds.REMOVE, work, subject, scope=SCOPE, by_platform=True)


async def retry_removals(tx: Tx) -> int:
    """Remove functions again whose removal has failed. Returns how many."""
    left = await store.list_unremoved(tx, before=tx.now - RETRY_REMOVAL_AFTER, limit=BATCH_SIZE)
    for function in left:
        await enqueue_removal(tx, function)
    return len(left)


async def count(tx: Tx, site: str) -> int:
    return await store.count(tx, site)


async def record_failure(tx: Tx, function_id: str, job: str, reason: str) -> None:
    """A build or a deployment has failed. The function may have been removed meanwhile."""
    function = await store.get(tx, function_id)
    if function is None or function.is_deleted:
        return
    await store.set_state(tx, function_id, "failed", reason)
    await _publish(tx, function, FUNCTION_FAILED, job=job, reason=reason)


async def get(tx: Tx, function: str) -> Function:
    found = await store.get(tx, function)
    if found is None:
        raise Refused(FunctionNotFound.code, "The function does not exist any more.")
    return found


async def get_version(tx: Tx, function: str, version: str) -> Version:
    found = await store.find_version(tx, function, version)
    if found is None:
        raise Refused(VersionNotFound.code, "The version does not exist any more.")
    return found


async def list_routes(tx: Tx, site: str) -> tuple[FunctionRoute, ...]:
    """What the edges know about the functions of a site, the longest path first."""
    routes = [
        FunctionRoute(
            route.path, route.version, route.limits["requests_per_second"], route.limits["request_bytes"]
        )
        for route in await store.list_served(tx, site)
    ]
    return tuple(sorted(routes, key=lambda route: len(route.path), reverse=True))


async def build_work(tx: Tx, function: Function, version: Version, *, active: bool) -> EnsureFunction:
    """The work that brings a version to the node of its site, with the settings that the function has now."""
    production = await environments.get_production(tx, function.site_id)
    references = await secrets.list_named(tx, production.id, function.secret_refs)
    known = {secret_name(id_) for id_, _ in references}
    for name in function.secret_refs:
        if name not in known:
            raise Refused(SecretMissing.code, str(SecretMissing(name=name)))
    return EnsureFunction(
        function=function.id,
        version=version.id,
        release=await artifacts.build_release_work(tx, function.site_id, version.artifact_id, "wasm"),
        limits=msgspec.convert(function.limits, FunctionLimits),
        fresh=function.fresh_instances,
        variables=tuple(sorted(function.env.items())),
        secrets=references,
        bindings=await _resolve_bindings(tx, function),
        active=active,
        tenant=await plans.resolve_quota_owner(tx, function.owner),
    )


async def list_work(tx: Tx, site: str) -> tuple[EnsureFunction, ...]:
    """The work that brings all served functions of a site to its node. One that cannot be deployed now, as
    because its secret was deleted, is left out: it must not keep the site from its visitors."""
    found = []
    for function_id, version_id in await store.list_served_versions(tx, site):
        function = await get(tx, function_id)
        try:
            version = await get_version(tx, function_id, version_id)
            found.append(await build_work(tx, function, version, active=True))
        except Refused:
            continue
    return tuple(found)


async def _resolve_bindings(tx: Tx, function: Function) -> tuple[FunctionBinding, ...]:
    bindings = msgspec.convert(function.bindings, list[Binding])
    slugs = [binding.config.function for binding in bindings if binding.kind == "service"]
    targets = await store.find_by_slugs(tx, function.site_id, slugs)
    resolved = []
    for binding in bindings:
        config = binding.config
        if binding.kind == "cron":
            continue
        if binding.kind == "service" and config.function not in targets:
            raise Refused(ServiceMissing.code, str(ServiceMissing(slug=config.function)))
        resolved.append(
            FunctionBinding(
                kind=binding.kind,
                name=binding.name,
                namespace=config.namespace,
                allow=tuple(config.allow),
                target=targets.get(config.function, ""),
            )
        )
    return tuple(resolved)


async def set_state(tx: Tx, function: str, state: BuildState, reason: str | None = None) -> None:
    await store.set_state(tx, function, state, reason)


async def set_served(tx: Tx, function: str, version: str | None) -> None:
    await store.set_served(tx, function, version)


async def set_active(tx: Tx, function: str, version: str) -> None:
    await store.set_active(tx, function, version)
    await store.forget_old_versions(tx, function)


async def forget_old_versions(tx: Tx, function: str) -> None:
    await store.forget_old_versions(tx, function)


async def record_artifact(tx: Tx, function: str, artifact: str) -> None:
    await store.set_artifact(tx, function, artifact)


async def remove(tx: Tx, function: str) -> None:
    """Forget a function that was deleted."""
    await store.delete(tx, function)


async def publish_event(
    tx: Tx, function: Function, event: EventType, *, job: str | None, **data: Fact
) -> None:
    await _publish(tx, function, event, job=job, **data)


async def _publish(
    tx: Tx, function: Function, event: EventType, *, job: str | None = None, **data: Fact
) -> None:
    about = About(
        account_id=function.account_id, team_id=function.team_id, site_id=function.site_id, job_id=job
    )
    facts = {"domain": function.domain, "function_id": function.id, "slug": function.slug}
    await publish(tx, event, about, **facts, **data)
