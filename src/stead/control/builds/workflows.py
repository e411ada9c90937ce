"""The job of a build: a node builds, then the worker verifies and signs the result."""

from msgspec import convert
from msgspec.structs import replace

from stead.artifacts import digests
from stead.artifacts.limits import unpacked_bytes
from stead.control.artifacts import service as artifacts
from stead.control.artifacts.rules import NewArtifact, SignatureInvalid
from stead.control.builds import jobs, service, signing
from stead.control.builds.jobs import BuildWork
from stead.control.builds.rules import (
    GIT,
    SERVE_MODELS,
    Build,
    BuildContext,
    BuildFailed,
    BuildUnavailable,
    FunctionSource,
    staged_object_name,
)
from stead.control.deployments import service as deployments
from stead.control.deployments.rules import DeploymentTarget, EnvironmentNotReady
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import EnvironmentLocked
from stead.control.functions import service as functions
from stead.control.functions.rules import BuildState
from stead.control.git import service as git
from stead.control.jobs.definition import (
    NodeCommand,
    Refused,
    Results,
    Workflow,
    control_step,
    long_step,
    node_step,
)
from stead.control.jobs.kinds import Job
from stead.control.jobs.presigning import BuildVariables
from stead.control.jobs.rules import JobsWaiting
from stead.control.nodes import service as nodes
from stead.control.secrets import service as secrets
from stead.control.sites import node_commands
from stead.control.uploads import service as uploads
from stead.control.uploads.rules import object_name
from stead.protocol.work import builds as node_work
from stead.protocol.work.builds import ArchiveSource, BuildResult, FunctionBuild, GitSource, InlineSource
from stead.shared.errors import AccountSuspended

BuildJob = Job[BuildWork]
NO_VARIABLES = BuildVariables((), ())


async def _begin(tx: Tx, job: BuildJob) -> None:
    """Choose a node: the one that hosts the environment if it can build, or else another of the region."""
    build = await service.get(tx, job.params.build)
    context = await service.get_context(tx, build)
    if context.is_suspended:
        raise Refused(AccountSuspended.code, AccountSuspended.message)
    # Every node can build for test sites: its simulator does.
    builder = None if context.mode == "test" else build.builder
    node = await nodes.find_build_node(
        tx, context.region, builder, prefer=context.node_id, waiting_since=job.dispatched_at
    )
    if node is None:
        refusal = BuildUnavailable(region=context.region, builder=build.builder)
        raise Refused(refusal.code, str(refusal))
    await service.set_node(tx, build.id, node)
    await service.prepare(tx, build)
    if not await service.set_status(tx, build.id, "running"):
        raise Refused(BuildFailed.code, "The build is not queued any more.")


async def _build(tx: Tx, job: BuildJob) -> NodeCommand | None:
    build = await service.get(tx, job.params.build)
    context = await service.get_context(tx, build)
    if build.node_id is None:
        raise Refused(BuildUnavailable.code, "No node was chosen for the build.")
    source = build_source(build, context)
    if isinstance(source, GitSource) and not source.url.startswith("https://"):
        source = replace(source, key=await git.get_sealed_deploy_key(tx, build.site_id))
    target = await deployments.get_target(tx, build.env_id)
    # A compiler could write them into the module, which has to work without secrets of one environment.
    is_function = build.function_id is not None
    variables = NO_VARIABLES if is_function else await secrets.get_for_build(tx, build.env_id)
    reusable = await service.find_reusable(tx, build)
    work = node_work.Build(
        build.builder,
        source,
        staged_object_name(build.id),
        variables=variables.secret,
        plain_variables=variables.plain,
        platform_variables=platform_variables(build, target),
        unchanged_source=reusable.source_digest if reusable else "",
        function=_function_build(build),
    )
    return node_commands.build_command(build.node_id, build.env_id, context.mode, work)


def platform_variables(build: Build, target: DeploymentTarget) -> tuple[tuple[str, str], ...]:
    """What every build can read. The node adds the commit and the ref that it has fetched."""
    return (
        ("STEAD_SITE", build.site_id),
        ("STEAD_ENVIRONMENT", build.env_id),
        ("STEAD_ENVIRONMENT_TYPE", target.type),
        ("STEAD_BUILD", build.id),
        ("STEAD_URL", target.origin),
    )


def _function_source(build: Build) -> FunctionSource | None:
    return convert(build.inline, FunctionSource) if build.inline is not None else None


def _function_build(build: Build) -> FunctionBuild | None:
    source = _function_source(build)
    if source is None:
        return None
    return FunctionBuild(source.language, source.filename, source.compatibility_date)


def build_source(build: Build, context: BuildContext) -> GitSource | ArchiveSource | InlineSource:
    """An upload is named by its object here. The URL is signed when the command is sent."""
    if (function := _function_source(build)) is not None and function.content is not None:
        return InlineSource(function.filename or "", function.content)
    if build.source == GIT:
        return GitSource(context.git_repo or "", build.ref or "", build.commit or "")
    if "://" in build.source:
        return ArchiveSource(build.source)
    return ArchiveSource(object_name(build.source), ours=True)


async def _store_result(tx: Tx, job: BuildJob, result: BuildResult | None) -> None:
    build = await service.get(tx, job.params.build)
    built = "" if result is None else result.commit
    if not built.startswith(build.commit or ""):
        raise Refused(SignatureInvalid.code, "The node built another commit than the requested one.")
    if result is not None and result.unchanged:
        reusable = await service.find_reusable(tx, build)
        if reusable is None or reusable.source_digest != result.source_digest:
            raise Refused(SignatureInvalid.code, "The node skipped a build that must not be skipped.")
    await service.record_result(tx, build, result)


async def _finish(tx: Tx, job: BuildJob) -> Results:
    build = await service.get(tx, job.params.build)
    if service.get_result(build).unchanged:
        return await _finish_skipped(tx, build)
    new = _build_artifact(build)
    artifact = await artifacts.record(tx, (await service.get_context(tx, build)).owner, new)
    if build.source.startswith("upl_"):
        await uploads.mark_used(tx, build.source)
    if build.function_id is not None:
        return await _finish_function(tx, build, artifact, new.digest)
    deployment, problem = await _deploy(tx, build, artifact) if build.auto_deploy else (None, None)
    url = f"{(await deployments.get_target(tx, build.env_id)).origin}/" if deployment else None
    if not await service.set_status(tx, build.id, "succeeded", artifact=artifact, error=problem):
        raise Refused(BuildFailed.code, "The build is not running any more.")
    optional = {"commit": build.commit, "ref": build.ref, "deployment_id": deployment, "url": url}
    return {
        "artifact_id": artifact,
        "build_id": build.id,
        "digest": new.digest,
        **{name: value for name, value in optional.items() if value is not None},
    }


async def _finish_skipped(tx: Tx, build: Build) -> Results:
    """The environment keeps its release."""
    reusable, live = await service.find_reusable(tx, build), await deployments.find_live(tx, build.env_id)
    if reusable is None or live is None:
        raise Refused(BuildFailed.code, "The live release is not there any more. Build again.")
    await service.mark_skipped(tx, build.id)
    if not await service.set_status(tx, build.id, "succeeded", artifact=reusable.artifact_id):
        raise Refused(BuildFailed.code, "The build is not running any more.")
    optional = {"commit": build.commit, "ref": build.ref}
    return {
        "artifact_id": reusable.artifact_id,
        "build_id": build.id,
        "digest": reusable.digest,
        "deployment_id": live.id,
        "url": f"{(await deployments.get_target(tx, build.env_id)).origin}/",
        **{name: value for name, value in optional.items() if value is not None},
    }


async def _finish_function(tx: Tx, build: Build, artifact: str, digest: str) -> Results:
    function_id = build.function_id or ""
    function = await functions.get(tx, function_id)
    await functions.record_artifact(tx, function_id, artifact)
    if not await service.set_status(tx, build.id, "succeeded", artifact=artifact):
        raise Refused(BuildFailed.code, "The build is not running any more.")
    state: BuildState = "live" if function.active_version_id else ""
    await functions.set_state(tx, function_id, state)
    if build.auto_deploy and not function.is_deleted:
        try:
            await functions.enqueue_deployment(tx, function, artifact)
            await functions.set_state(tx, function_id, "deploying")
        except (EnvironmentNotReady, EnvironmentLocked, JobsWaiting) as refusal:
            await functions.set_state(tx, function_id, state, str(refusal))
    return {"artifact_id": artifact, "build_id": build.id, "digest": digest}


def _build_artifact(build: Build) -> NewArtifact:
    if build.manifest is None or build.config is None or build.envelope is None or build.key_id is None:
        raise Refused(SignatureInvalid.code, "The result of the build is not signed.")
    result, digest = service.get_result(build), digests.of(build.manifest)
    return NewArtifact(
        site_id=build.site_id,
        build_id=build.id,
        serve_model=SERVE_MODELS[build.builder],
        digest=digest,
        manifest=build.manifest,
        config=build.config,
        envelope=build.envelope,
        key_id=build.key_id,
        layer_digest=result.digest,
        layer_size=result.size,
        ref=build.ref,
        commit=build.commit,
        layer_unpacked=unpacked_bytes(result.bytes, result.files + result.directories),
        blobs=(digest, digests.of(build.config), result.digest),
        php=result.php,
    )


async def _deploy(tx: Tx, build: Build, artifact: str) -> tuple[str | None, str | None]:
    """Queue the deployment, and return its id.

    If that is not possible, return the reason instead: the build has succeeded all the same.
    """
    try:
        job = await deployments.enqueue(tx, build.env_id, artifact)
    except (EnvironmentNotReady, EnvironmentLocked, JobsWaiting) as refusal:
        return None, str(refusal)
    return str(job.resource["id"]), None


async def _failed(tx: Tx, job: BuildJob, reason: str) -> None:
    await service.set_status(tx, job.params.build, "failed", error=reason)
    if (function := await service.find_function(tx, job.params.build)) is not None:
        await functions.record_failure(tx, function, job.id, reason)


RUN = Workflow(
    jobs.RUN,
    steps=[
        control_step("begin", _begin),
        long_step("source", signing.verify_upload),
        node_step("build", _build, on_result=_store_result),
        long_step("sign", signing.sign_artifact),
        control_step("done", _finish),
    ],
    failed=_failed,
)
