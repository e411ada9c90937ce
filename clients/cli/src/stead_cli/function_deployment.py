"""Follows the build of a function, and the deployment that it starts."""

from stead_cli.failures import JOB_FAILED, CliError
from stead_cli.follow import follow
from stead_cli.session import Session
from stead_sdk import types
from stead_sdk._sync.jobs import JobHandle

_DEPLOYMENT = "deployment.wasm_deploy"


def follow_build(session: Session, function: types.Function, job_id: str) -> types.Function:
    """The function when visitors get what was built. A build succeeds also if it could not be deployed, as
    in a locked environment: that is an error here."""
    artifact = (_follow_job(session, job_id).result or {}).get("artifact_id")
    for job in _deployments_since(session, function, job_id):
        deployed = _follow_job(session, job)
        if (deployed.result or {}).get("artifact_id") == artifact:
            return session.client.functions.get(function.id)
    function = session.client.functions.get(function.id)
    raise CliError(
        f"{function.slug} was built, but not deployed. {function.status_reason or ''}".strip(),
        code="function.not_deployed",
        fix=f"stead functions deploy {function.id} --artifact-id {artifact}",
        exit_code=JOB_FAILED,
    )


def _deployments_since(session: Session, function: types.Function, build_job: str) -> list[str]:
    """Of this function, oldest first. The build has started one of them, if any."""
    found = []
    for job in session.client.jobs.list(site_id=function.site_id, limit=100):
        if job.id == build_job:
            break
        if job.type == _DEPLOYMENT and (job.resource or {}).get("id") == function.id:
            found.append(job.id)
    return found[::-1]


def _follow_job(session: Session, job_id: str) -> types.Job:
    handle: JobHandle[types.Job] = JobHandle(
        session.client, session.client.jobs.get(job_id), lambda done: done
    )
    return follow(session, handle)
