"""The use cases of builds, each inside the caller's transaction."""

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
    BuildContext,
    BuildFailed,
    BuildNotFound,
    BuildStatus,
    FunctionSource,
    ReusableBuild,
    VisibleBuild,
    staged_object_name,
)
from stead.control.builds.schema import BuildView, NewBuild
from stead.control.deployments import service as deployments
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database, Tx
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.git import service as git
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs import service as jobs
from stead.control.jobs.definition import Refused
from stead.control.jobs.schema import JobView
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, publish
from stead.control.secrets import service as secrets
from stead.control.uploads import service as uploads
from stead.protocol.work.builds import MOST_PHP_REQUIREMENTS, BuildResult
from stead.shared.errors import FieldInvalid
from stead.shared.ids import has_shape

SCOPE = "deployments:write"
FUNCTION_SCOPE = "functions:write"
STAGED_FOR = timedelta(hours=1)
"""The builder's upload URL is valid this long, so a layer may still arrive after the build has failed."""
BATCH_SIZE = 100
_NO_UPLOAD = "This site has no such upload, or the upload has expired."
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
    pushed: bool = False,
) -> JobView:
    """Queue a build for an environment. Pushes use this, too. The default builder is that of the profile."""
    await deployments.get_ready_target(tx, env_id)
    context = await store.find_context(tx, site_id, env_id)
    if context is None:
        raise EnvironmentNotFound
    builder = _validate_builder(context, builder)
    source = await _validate_source(tx, context, source)
    ref = source_ref or (context.mapped_branch if source == GIT else None)
    if source != GIT and (source_ref or commit):
        raise FieldInvalid(param="source", reason="An archive has neither a `source_ref` nor a `commit`.")
    owner = context.team_id or context.account_id or ""
    # Limits are checked before the build is written. A caller that catches the refusal and commits needs a
    # savepoint: unused artifacts may have been removed.
    await jobs.require_room(tx, owner)
    await artifacts.ensure_storage(tx, context.owner)
    build = await store.insert(
        tx,
        site_id,
        env_id,
        builder=builder,
        source=source,
        ref=ref,
        commit=commit,
        auto_deploy=auto_deploy,
        pushed=pushed,
    )
    subject = jobs.Subject(site_id, owner, env_id=env_id, id=build)
    job = await jobs.enqueue(tx, RUN, BuildWork(build), subject, scope=SCOPE)
    await store.set_job(tx, build, job.id)
    if source == GIT and context.mode == "live":
        await git.report_build(tx, site_id, owner, build)
    return job


async def enqueue_function(
    tx: Tx,
    site_id: str,
    env_id: str,
    function: str,
    source: FunctionSource,
    *,
    upload: str | None = None,
    auto_deploy: bool,
) -> JobView:
    """Queue a build of a function, from a single file or from the folder in an upload."""
    await deployments.get_ready_target(tx, env_id)
    context = await store.find_context(tx, site_id, env_id)
    if context is None:
        raise EnvironmentNotFound
    owner = context.team_id or context.account_id or ""
    await jobs.require_room(tx, owner)
    await artifacts.ensure_storage(tx, context.owner)
    if upload is not None and not await uploads.belongs_to_site(tx, upload, site_id):
        raise FieldInvalid(param="upload_id", reason=_NO_UPLOAD)
    build = await store.insert_function_build(
        tx, site_id, env_id, function, source, upload=upload, auto_deploy=auto_deploy
    )
    subject = jobs.Subject(site_id, owner, env_id=env_id, id=build)
    job = await jobs.enqueue(tx, RUN, BuildWork(build), subject, scope=FUNCTION_SCOPE)
    await store.set_job(tx, build, job.id)
    return job


async def replace_commit(tx: Tx, job: str, *, source_ref: str, commit: str | None) -> bool:
    """Change what a queued build will build. Returns False when it has started already."""
    return await store.replace_commit(tx, job, source_ref, commit)


def _validate_builder(context: BuildContext, wanted: str) -> str:
    known = BUILDERS.get(context.profile)
    if known is None:
        raise FieldInvalid(param="builder", reason=f"There is no builder for {context.profile} sites.")
    if wanted not in ("", known):
        raise FieldInvalid(param="builder", reason=f"The builder of {context.profile} sites is `{known}`.")
    return known


async def _validate_source(tx: Tx, context: BuildContext, wanted: str | None) -> str:
    if wanted is None:
        if context.git_repo is None:
            reason = "The site has no repository. Name an upload or the URL of an archive."
            raise FieldInvalid(param="source", reason=reason)
        return GIT
    if wanted.startswith("upl_"):
        if not await uploads.belongs_to_site(tx, wanted, context.site_id):
            raise FieldInvalid(param="source", reason=_NO_UPLOAD)
        return wanted
    if not _is_https(wanted):
        reason = "A source is the id of an upload, or an https URL without a user name or password."
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
        raise Refused(BuildNotFound.code, "The build does not exist any more.")
    return found


async def find_function(tx: Tx, build: str) -> str | None:
    """The function that is built, if it is one."""
    found = await store.get(tx, build)
    return found.function_id if found else None


async def get_context(tx: Tx, build: Build) -> BuildContext:
    found = await store.find_context(tx, build.site_id, build.env_id)
    if found is None:
        raise Refused(EnvironmentNotFound.code, "The environment does not exist any more.")
    return found


async def set_node(tx: Tx, build: str, node: str) -> None:
    await store.set_node(tx, build, node)


async def prepare(tx: Tx, build: Build) -> None:
    """Record with which secrets and variables the environment is built, and for which URL, and which artifact
    can be used instead if nothing has changed."""
    origin = (await deployments.get_target(tx, build.env_id)).origin
    inputs = f"{await secrets.get_fingerprint(tx, build.env_id)} {origin}"
    reusable = await store.find_reusable(tx, build.env_id, inputs) if build.pushed else None
    await store.set_inputs(tx, build.id, inputs, reusable.artifact_id if reusable else None)


async def find_reusable(tx: Tx, build: Build) -> ReusableBuild | None:
    """The live release, if a push that changes nothing need not be built."""
    if build.reuses is None or build.inputs is None:
        return None
    found = await store.find_reusable(tx, build.env_id, build.inputs)
    return found if found is not None and found.artifact_id == build.reuses else None


async def mark_skipped(tx: Tx, build: str) -> None:
    await store.mark_skipped(tx, build)


async def record_result(tx: Tx, build: Build, result: BuildResult | None) -> None:
    """Record what the node reports. The author of a commit wrote its texts, so they are limited."""
    if result is None:
        raise Refused(BuildFailed.code, str(BuildFailed(reason="the builder returned no result.")))
    texts = ("commit", "ref", "author", "message", "source_digest")
    shown = {name: printable(getattr(result, name)) or None for name in texts}
    plain = tuple(each for each in result.php if each.is_plain)[:MOST_PHP_REQUIREMENTS]
    result = msgspec.structs.replace(result, php=plain)
    await store.set_result(tx, build.id, msgspec.structs.asdict(result), shown=shown)


def get_result(build: Build) -> BuildResult:
    if build.result is None:
        raise Refused(BuildFailed.code, str(BuildFailed(reason="no builder has returned a result.")))
    return msgspec.convert(build.result, BuildResult)


async def record_signed(
    tx: Tx, build: str, *, manifest: bytes, config: bytes, envelope: bytes, key_id: str
) -> None:
    await store.set_signed(tx, build, manifest=manifest, config=config, envelope=envelope, key_id=key_id)


async def set_status(
    tx: Tx, build_id: str, status: BuildStatus, *, artifact: str | None = None, error: str | None = None
) -> bool:
    """Change the status if the current one allows it, and publish the change. Returns whether it did."""
    if not await store.set_status(tx, build_id, status, artifact=artifact, error=error):
        return False
    build = await get(tx, build_id)
    context = await get_context(tx, build)
    about = About(
        account_id=context.account_id,
        team_id=context.team_id,
        site_id=build.site_id,
        env_id=build.env_id,
        job_id=build.job_id,
    )
    more: Mapping[str, str | None] = {"reason": error} if status == "failed" else {}
    if status == "succeeded":
        more = {"artifact_id": artifact}
    data = {"build_id": build.id, "ref": build.ref, "commit": build.commit}
    await publish(tx, _EVENTS[status], about, domain=context.domain, **data, **more)
    return True


async def remove_staged(database: Database, objects: ObjectStore) -> int:
    """Remove the staged layers of finished builds from the object store. Returns how many."""
    removed = 0
    while True:
        async with database.reading() as tx:
            finished = await store.list_staged(tx, before=tx.now - STAGED_FOR, limit=BATCH_SIZE)
        if not finished:
            return removed
        await objects.delete([staged_object_name(build) for build in finished])
        async with database.transaction() as tx:
            await store.clear_staged(tx, finished)
        removed += len(finished)
