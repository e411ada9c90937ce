"""What callers and jobs do with builds, each inside the caller's transaction."""

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import urlsplit

import msgspec

from stead.artifacts.refusals import printable
from stead.control.artifacts import service as artifacts
from stead.control.builds import store
from stead.control.builds.events import BUILD_FAILED, BUILD_STARTED, BUILD_SUCCEEDED
from stead.control.builds.jobs import RUN, BuildWork
from stead.control.builds.rules import (
    BUILDERS,
    GIT,
    Build,
    BuildFailed,
    BuildNotFound,
    BuildStatus,
    Origin,
    VisibleBuild,
    staged_name,
)
from stead.control.builds.schema import BuildView, NewBuild
from stead.control.deployments import service as deployments
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database, Tx
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs import service as jobs
from stead.control.jobs.definition import Refused
from stead.control.jobs.schema import JobView
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, publish
from stead.control.uploads import service as uploads
from stead.protocol.work import BuildResult
from stead.shared.errors import FieldInvalid
from stead.shared.ids import has_shape

SCOPE = "deployments:write"
STAGED_FOR = timedelta(hours=1)
"""A layer may still arrive for as long as the address lasts that the builder was given."""
AT_ONCE = 100
_EVENTS: dict[BuildStatus, EventType] = {
    "running": BUILD_STARTED,
    "succeeded": BUILD_SUCCEEDED,
    "failed": BUILD_FAILED,
}


async def visible_build(call: Call, environment: VisibleEnvironment, build_id: str) -> VisibleBuild:
    found = await store.find(call.tx, environment, build_id) if has_shape("build", build_id) else None
    if found is None:
        raise BuildNotFound
    return found


async def browse(tx: Tx, env: str, page: PageRequest) -> Page[BuildView]:
    return await store.page(tx, env, page)


async def view(tx: Tx, build: VisibleBuild) -> BuildView:
    found = await store.view(tx, build)
    if found is None:
        raise BuildNotFound
    return found


async def create(tx: Tx, env: VisibleEnvironment, wanted: NewBuild) -> JobView:
    return await enqueue(
        tx,
        env.site_id,
        env.id,
        builder=wanted.builder,
        source_ref=wanted.source_ref,
        commit=wanted.commit,
        source=wanted.source,
        auto_deploy=wanted.auto_deploy,
    )


async def enqueue(
    tx: Tx,
    site_id: str,
    env_id: str,
    *,
    builder: str = "",
    source_ref: str | None = None,
    commit: str | None = None,
    source: str | None = None,
    auto_deploy: bool = False,
) -> JobView:
    """Build for an environment; for a caller as well as for a push. Without a builder: that of the site."""
    await deployments.get_ready_target(tx, env_id)
    origin = await store.origin(tx, site_id, env_id)
    if origin is None:
        raise EnvironmentNotFound
    builder = _builder(origin, builder)
    source = await _source(tx, origin, source)
    ref = source_ref or (origin.mapped_branch if source == GIT else None)
    if source != GIT and (source_ref or commit):
        raise FieldInvalid(param="source", reason="An archive has neither a `source_ref` nor a `commit`.")
    owner = origin.team_id or origin.account_id or ""
    # Before anything is written: who is refused may go on with the transaction.
    await jobs.require_room(tx, owner)
    await artifacts.make_room(tx, origin.owner)
    build = await store.insert(
        tx,
        site_id,
        env_id,
        builder=builder,
        source=source,
        ref=ref,
        commit=commit,
        auto_deploy=auto_deploy,
    )
    subject = jobs.Subject(site_id, owner, env_id=env_id, id=build)
    job = await jobs.enqueue(tx, RUN, BuildWork(build), subject, scope=SCOPE)
    await store.set_job(tx, build, job.id)
    return job


async def repin(tx: Tx, job: str, *, source_ref: str, commit: str | None) -> bool:
    """A build that has not begun is of something else; False when it has begun."""
    return await store.repin(tx, job, source_ref, commit)


def _builder(origin: Origin, wanted: str) -> str:
    known = BUILDERS.get(origin.runtime)
    if known is None:
        raise FieldInvalid(param="builder", reason=f"There is no builder for {origin.runtime} sites yet.")
    if wanted not in ("", known):
        raise FieldInvalid(param="builder", reason=f"A {origin.runtime} site is built by `{known}`.")
    return known


async def _source(tx: Tx, origin: Origin, wanted: str | None) -> str:
    if wanted is None:
        if origin.git_repo is None:
            reason = "The site has no repository: say what to build, an upload or the URL of an archive."
            raise FieldInvalid(param="source", reason=reason)
        return GIT
    if wanted.startswith("upl_"):
        if not await uploads.is_of(tx, wanted, origin.site_id):
            reason = "There is no such upload of this site, or it has expired."
            raise FieldInvalid(param="source", reason=reason)
        return wanted
    if not _is_https(wanted):
        reason = "A source is the id of an upload, or an https URL that names nobody who logs in."
        raise FieldInvalid(param="source", reason=reason)
    return wanted


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc


async def get(tx: Tx, build: str) -> Build:
    found = await store.get(tx, build)
    if found is None:
        raise Refused(BuildNotFound.code, "The build is gone.")
    return found


async def origin_of(tx: Tx, build: Build) -> Origin:
    found = await store.origin(tx, build.site_id, build.env_id)
    if found is None:
        raise Refused(EnvironmentNotFound.code, "The environment is gone.")
    return found


async def carried_by(tx: Tx, build: str, node: str) -> None:
    await store.set_node(tx, build, node)


async def heard(tx: Tx, build: Build, result: BuildResult | None) -> None:
    """Record what the node reports. The texts of a commit are its author's, so they are bounded."""
    if result is None:
        raise Refused(BuildFailed.code, str(BuildFailed(reason="the builder said nothing of it.")))
    texts = ("commit", "ref", "author", "message")
    shown = {name: printable(getattr(result, name)) or None for name in texts}
    await store.set_facts(tx, build.id, msgspec.structs.asdict(result), said=shown)


def facts_of(build: Build) -> BuildResult:
    if build.facts is None:
        raise Refused(BuildFailed.code, str(BuildFailed(reason="no builder has said anything of it.")))
    return msgspec.convert(build.facts, BuildResult)


async def made(tx: Tx, build: str, *, manifest: bytes, config: bytes, envelope: bytes, key_id: str) -> None:
    await store.set_made(tx, build, manifest=manifest, config=config, envelope=envelope, key_id=key_id)


async def become(
    tx: Tx, build_id: str, status: BuildStatus, *, artifact: str | None = None, error: str | None = None
) -> bool:
    """Move a build on, if it may, and tell whoever waits for that."""
    if not await store.set_status(tx, build_id, status, artifact=artifact, error=error):
        return False
    build = await get(tx, build_id)
    origin = await origin_of(tx, build)
    about = About(
        account_id=origin.account_id,
        team_id=origin.team_id,
        site_id=build.site_id,
        env_id=build.env_id,
        job_id=build.job_id,
    )
    more: Mapping[str, str | None] = {"reason": error} if status == "failed" else {}
    if status == "succeeded":
        more = {"artifact_id": artifact}
    said = {"build_id": build.id, "ref": build.ref, "commit": build.commit}
    await publish(tx, _EVENTS[status], about, domain=origin.domain, **said, **more)
    return True


async def remove_staged(database: Database, objects: ObjectStore) -> int:
    """What builders put down for builds that have ended. How many there were."""
    removed = 0
    while True:
        async with database.reading() as tx:
            ended = await store.staged(tx, before=tx.now - STAGED_FOR, most=AT_ONCE)
        if not ended:
            return removed
        await objects.delete([staged_name(build) for build in ended])
        async with database.transaction() as tx:
            await store.unstaged(tx, ended)
        removed += len(ended)
