"""The job of a build: a node builds, the worker looks at what came out and signs it."""

from msgspec.structs import replace

from stead.artifacts import digests
from stead.control.artifacts import service as artifacts
from stead.control.artifacts.rules import NewArtifact, SignatureInvalid
from stead.control.builds import jobs, service, vouching
from stead.control.builds.jobs import BuildWork
from stead.control.builds.rules import GIT, Build, BuildFailed, BuildUnavailable, Origin, staged_name
from stead.control.deployments import service as deployments
from stead.control.deployments.rules import EnvironmentNotReady
from stead.control.engines.postgres import Tx
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
from stead.control.jobs.rules import JobsWaiting
from stead.control.nodes import service as nodes
from stead.control.uploads import service as uploads
from stead.control.uploads.rules import object_name
from stead.protocol import work as node_work
from stead.protocol.work import ArchiveSource, BuildResult, GitSource

BuildJob = Job[BuildWork]


async def _begin(tx: Tx, job: BuildJob) -> None:
    """On the node that carries the environment if it builds, else on another of the region."""
    build = await service.get(tx, job.params.build)
    origin = await service.origin_of(tx, build)
    # The simulator of every node builds.
    builder = None if origin.mode == "test" else build.builder
    node = await nodes.who_builds(
        tx, origin.region, builder, rather=origin.node_id, wanted_since=job.dispatched_at
    )
    if node is None:
        absent = BuildUnavailable(region=origin.region, builder=build.builder)
        raise Refused(absent.code, str(absent))
    await service.carried_by(tx, build.id, node)
    if not await service.become(tx, build.id, "running"):
        raise Refused(BuildFailed.code, "The build is not waiting any more.")


async def _build(tx: Tx, job: BuildJob) -> NodeCommand | None:
    build = await service.get(tx, job.params.build)
    origin = await service.origin_of(tx, build)
    if build.node_id is None:
        raise Refused(BuildUnavailable.code, "No node builds it.")
    source = source_for_node(build, origin)
    if isinstance(source, GitSource) and not source.url.startswith("https://"):
        source = replace(source, key=await git.get_sealed_deploy_key(tx, build.site_id))
    work = node_work.Build(build.builder, source, staged_name(build.id))
    return NodeCommand(build.node_id, build.env_id, "simulator" if origin.mode == "test" else "live", work)


def source_for_node(build: Build, origin: Origin) -> GitSource | ArchiveSource:
    """Where an address of ours belongs is the name of an object: whoever asks signs it."""
    if build.source == GIT:
        return GitSource(origin.git_repo or "", build.ref or "", build.commit or "")
    if "://" in build.source:
        return ArchiveSource(build.source)
    return ArchiveSource(object_name(build.source), ours=True)


async def _store_result(tx: Tx, job: BuildJob, result: BuildResult | None) -> None:
    build = await service.get(tx, job.params.build)
    built = "" if result is None else result.commit
    if not built.startswith(build.commit or ""):
        raise Refused(SignatureInvalid.code, "Another commit was built than the one that was asked for.")
    await service.heard(tx, build, result)


async def _done(tx: Tx, job: BuildJob) -> Results:
    build = await service.get(tx, job.params.build)
    new = _artifact(build)
    artifact = await artifacts.record(tx, (await service.origin_of(tx, build)).owner, new)
    if build.source.startswith("upl_"):
        await uploads.used(tx, build.source)
    problem = await _deploy(tx, build, artifact) if build.auto_deploy else None
    if not await service.become(tx, build.id, "succeeded", artifact=artifact, error=problem):
        raise Refused(BuildFailed.code, "The build is not under way any more.")
    said = {"commit": build.commit, "ref": build.ref}
    return {
        "artifact_id": artifact,
        "build_id": build.id,
        "digest": new.digest,
        **{name: value for name, value in said.items() if value is not None},
    }


def _artifact(build: Build) -> NewArtifact:
    if build.manifest is None or build.config is None or build.envelope is None or build.key_id is None:
        raise Refused(SignatureInvalid.code, "Nobody has signed what was built.")
    facts, digest = service.facts_of(build), digests.of(build.manifest)
    return NewArtifact(
        site_id=build.site_id,
        build_id=build.id,
        digest=digest,
        manifest=build.manifest,
        config=build.config,
        envelope=build.envelope,
        key_id=build.key_id,
        layer_digest=facts.digest,
        layer_size=facts.size,
        ref=build.ref,
        commit=build.commit,
        blobs=(digest, digests.of(build.config), facts.digest),
    )


async def _deploy(tx: Tx, build: Build, artifact: str) -> str | None:
    """Why it cannot be deployed, if it cannot: the build itself has succeeded all the same."""
    try:
        await deployments.enqueue(tx, build.env_id, artifact)
    except (EnvironmentNotReady, JobsWaiting) as refusal:
        return str(refusal)
    return None


async def _failed(tx: Tx, job: BuildJob, reason: str) -> None:
    await service.become(tx, job.params.build, "failed", error=reason)


RUN = Workflow(
    jobs.RUN,
    steps=[
        control_step("begin", _begin),
        long_step("source", vouching.check_source),
        node_step("build", _build, on_result=_store_result),
        long_step("sign", vouching.sign),
        control_step("done", _done),
    ],
    failed=_failed,
)
