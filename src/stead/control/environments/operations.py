"""HTTP operations on environments."""

from stead.control.environments import actions, captured_mail, service
from stead.control.environments.rules import (
    EnvironmentBusy,
    EnvironmentExists,
    EnvironmentIsProduction,
    EnvironmentLocked,
    EnvironmentNotFound,
    NothingToPush,
    PushNotAllowed,
    SiteNotRunning,
    VisibleEnvironment,
)
from stead.control.environments.schema import (
    EnvironmentView,
    LeaseView,
    LockView,
    MailView,
    NewEnvironment,
    NewLock,
    NewPush,
)
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.plans.rules import BranchesExhausted, EnvironmentsExhausted
from stead.control.sites.rules import SiteNotFound, VisibleSite
from stead.shared.errors import CapabilityUnsupported

operation = Operations(tag="Environments")

_ALL = "/v1/sites/{site_id}/environments"
_ONE = f"{_ALL}/{{env_id}}"
_READ, _WRITE = "environments:read", "environments:write"
_CHANGING = [EnvironmentNotFound, EnvironmentIsProduction, EnvironmentBusy, SiteNotRunning, JobsWaiting]


@operation(f"GET {_ALL}", id="environments.list", scope=_READ, errors=[SiteNotFound])
async def list_environments(call: Call, site: VisibleSite, page: PageRequest) -> Page[EnvironmentView]:
    """List the environments of a site, newest first. Production is not listed."""
    return await service.browse(call.tx, site.id, page)


@operation(
    f"POST {_ALL}",
    id="environments.create",
    scope=_WRITE,
    job="environment.clone|environment.create",
    creates="environments.get",
    errors=[
        SiteNotFound,
        SiteNotRunning,
        EnvironmentExists,
        EnvironmentsExhausted,
        BranchesExhausted,
        JobsWaiting,
    ],
)
async def create_environment(call: Call, site: VisibleSite, body: NewEnvironment) -> JobView:
    """Create the staging environment of a site, or one for a branch.

    A new environment is a copy of production on a host of its own. A branch environment gets its own content
    with the first build of its branch.
    """
    return await actions.create(
        call.tx,
        site.id,
        body,
        preview_domain=call.context.preview_domain,
    )


@operation(f"GET {_ONE}", id="environments.get", scope=_READ, errors=[EnvironmentNotFound])
async def get_environment(call: Call, environment: VisibleEnvironment) -> EnvironmentView:
    """Read an environment. The identifier `production` names the production environment."""
    return await service.view(call.tx, environment)


@operation(
    f"DELETE {_ONE}",
    id="environments.destroy",
    recent_sign_in=True,
    scope=_WRITE,
    job="environment.destroy",
    errors=_CHANGING,
)
async def destroy_environment(call: Call, environment: VisibleEnvironment) -> JobView:
    """Destroy an environment permanently. A new one can be created for its branch afterwards.

    Commands that are queued or running in it are cancelled.
    """
    return await actions.destroy(call.tx, environment, call.context.docs_url)


@operation(
    f"POST {_ONE}/refresh",
    id="environments.refresh",
    scope=_WRITE,
    job="environment.refresh",
    destructive="irreversible",
    capability="clone_content",
    errors=[*_CHANGING, EnvironmentLocked],
)
async def refresh_environment(call: Call, environment: VisibleEnvironment) -> JobView:
    """Deploy the current release of production to an environment."""
    return await actions.refresh(call.tx, environment)


@operation(
    f"POST {_ONE}/reset",
    id="environments.reset",
    scope=_WRITE,
    job="environment.reset",
    destructive="irreversible",
    errors=[*_CHANGING, EnvironmentLocked],
)
async def reset_environment(call: Call, environment: VisibleEnvironment) -> JobView:
    """Reset an environment to its initial state.

    The initial state of a static site is the placeholder page. The settings of the environment and its
    deployments are kept; each deployment can be rolled back to.
    """
    return await actions.reset(call.tx, environment)


@operation(
    f"POST {_ONE}/push",
    id="environments.push",
    scope=_WRITE,
    job="environment.push",
    destructive="reversible",
    capability="clone_content",
    errors=[*_CHANGING, EnvironmentLocked, PushNotAllowed, NothingToPush, CapabilityUnsupported],
)
async def push_environment(call: Call, environment: VisibleEnvironment, body: NewPush | None) -> JobView:
    """Push the content of an environment to production.

    The content of a static site is its release: production switches to the artifact that the environment
    serves. First the current release of production is read from the object store and verified, so that a
    rollback is possible; if the verification fails, nothing changes. To undo the push, roll back the new
    deployment of production. On a site with a repository, only the staging environment can be pushed.

    The content of a WordPress site is its files, its database or both, as `mode` says. The output of the job
    first lists what is new on production. Orders, accounts, comments and form entries of production are kept,
    and so are uploads that the environment does not have. Production is stopped only for the switch, and its
    page is requested afterwards; if that fails, production serves what it served before.
    """
    return await actions.push(call.tx, call.caller, environment, body)


@operation(f"GET {_ONE}/mail", id="environments.mail", scope=_READ, errors=[EnvironmentNotFound])
async def list_mail(call: Call, environment: VisibleEnvironment, page: PageRequest) -> Page[MailView]:
    """List what an environment tried to send, newest first.

    Mail of a copy of production is never sent: the copy has the addresses of real customers. The latest 100
    messages are kept for 14 days. The list of production is empty.
    """
    return await captured_mail.browse(call.tx, call.sealer, environment, page)


@operation(
    f"POST {_ONE}/suspend",
    id="environments.suspend",
    scope=_WRITE,
    job="environment.suspend",
    errors=_CHANGING,
)
async def suspend_environment(call: Call, environment: VisibleEnvironment) -> JobView:
    """Suspend an environment. Visitors get a 503 page until it is resumed.

    Commands that are queued or running in it are cancelled.
    """
    return await actions.suspend(call.tx, environment, call.context.docs_url)


@operation(
    f"POST {_ONE}/resume", id="environments.resume", scope=_WRITE, job="environment.resume", errors=_CHANGING
)
async def resume_environment(call: Call, environment: VisibleEnvironment) -> JobView:
    """Resume a suspended environment."""
    return await actions.resume(call.tx, environment)


@operation(
    f"POST {_ONE}/renew",
    id="environments.renew",
    scope=_WRITE,
    errors=[EnvironmentNotFound, EnvironmentBusy],
)
async def renew_environment(call: Call, environment: VisibleEnvironment) -> LeaseView:
    """Renew the lease of an environment and issue a new metrics token. The previous token stops working."""
    return await actions.renew(call.tx, environment)


@operation(
    f"PUT {_ONE}/lock", id="environments.lock", scope="deployments:write", errors=[EnvironmentNotFound]
)
async def lock_environment(call: Call, environment: VisibleEnvironment, body: NewLock) -> LockView:
    """Keep an environment on the release that it serves.

    Deployments, promotions and rollbacks to it, pushes to it, refreshes and resets are refused, also those
    that wait in the queue; what is being deployed already is finished. Pushed commits are still built, and
    builds with `auto_deploy` still run, but their artifacts are not deployed; the `error` of the build says
    why. Locking again replaces the reason.
    """
    return await service.lock(call.tx, environment, body)


@operation(
    f"DELETE {_ONE}/lock",
    id="environments.unlock",
    scope="deployments:write",
    destructive="reversible",
    errors=[EnvironmentNotFound],
)
async def unlock_environment(call: Call, environment: VisibleEnvironment) -> None:
    """Allow deployments again. Artifacts that were held back are not deployed by this."""
    await service.unlock(call.tx, environment)
