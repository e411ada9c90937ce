"""HTTP operations on environments."""

from stead.control.environments import actions, service
from stead.control.environments.rules import (
    EnvironmentBusy,
    EnvironmentExists,
    EnvironmentIsProduction,
    EnvironmentNotFound,
    NothingToPush,
    PushNotAllowed,
    SiteNotRunning,
    VisibleEnvironment,
)
from stead.control.environments.schema import EnvironmentView, LeaseView, NewEnvironment, NewPush
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
    """List the environments of a site besides production, newest first."""
    return await service.browse(call.tx, site.id, page)


@operation(
    f"POST {_ALL}",
    id="environments.create",
    scope=_WRITE,
    job="environment.clone|environment.create",
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

    It begins as a copy of production on a host of its own; a branch environment gets its own content with
    the first build of its branch.
    """
    return await actions.create(
        call.tx,
        site.id,
        body,
        preview_domain=call.context.preview_domain,
    )


@operation(f"GET {_ONE}", id="environments.get", scope=_READ, errors=[EnvironmentNotFound])
async def get_environment(call: Call, environment: VisibleEnvironment) -> EnvironmentView:
    """Read an environment. `production` names the site's own."""
    return await service.view(call.tx, environment)


@operation(
    f"DELETE {_ONE}", id="environments.destroy", scope=_WRITE, job="environment.destroy", errors=_CHANGING
)
async def destroy_environment(call: Call, environment: VisibleEnvironment) -> JobView:
    """Destroy an environment, for good. Its branch may have another one afterwards."""
    return await actions.destroy(call.tx, environment)


@operation(
    f"POST {_ONE}/refresh",
    id="environments.refresh",
    scope=_WRITE,
    job="environment.refresh",
    capability="clone_content",
    errors=_CHANGING,
)
async def refresh_environment(call: Call, environment: VisibleEnvironment) -> JobView:
    """Let an environment show what production shows now."""
    return await actions.refresh(call.tx, environment)


@operation(
    f"POST {_ONE}/reset", id="environments.reset", scope=_WRITE, job="environment.reset", errors=_CHANGING
)
async def reset_environment(call: Call, environment: VisibleEnvironment) -> JobView:
    """Let an environment go back to its clean baseline.

    The baseline of a static site is what it shows before its first deployment: the placeholder. Settings of
    the environment stay, and so does the history of its deployments, each of which can be rolled back to.
    """
    return await actions.reset(call.tx, environment)


@operation(
    f"POST {_ONE}/push",
    id="environments.push",
    scope=_WRITE,
    job="environment.push",
    capability="clone_content",
    errors=[*_CHANGING, PushNotAllowed, NothingToPush, CapabilityUnsupported],
)
async def push_environment(call: Call, environment: VisibleEnvironment, body: NewPush | None) -> JobView:
    """Make the content of an environment production's.

    The content of a static site is its release: production switches to the very artifact that the environment
    shows. Before that, what production shows is read back from the object store and verified, so that there
    is something to return to; if it cannot be, nothing changes. A rollback of production's new deployment
    undoes the push. Where a site has a repository, only its staging environment may push.
    """
    return await actions.push(call.tx, call.caller, environment, body)


@operation(
    f"POST {_ONE}/suspend",
    id="environments.suspend",
    scope=_WRITE,
    job="environment.suspend",
    errors=_CHANGING,
)
async def suspend_environment(call: Call, environment: VisibleEnvironment) -> JobView:
    """Pause an environment: visitors are told so until it is resumed."""
    return await actions.suspend(call.tx, environment)


@operation(
    f"POST {_ONE}/resume", id="environments.resume", scope=_WRITE, job="environment.resume", errors=_CHANGING
)
async def resume_environment(call: Call, environment: VisibleEnvironment) -> JobView:
    """Bring a suspended environment back into service."""
    return await actions.resume(call.tx, environment)


@operation(
    f"POST {_ONE}/renew",
    id="environments.renew",
    scope=_WRITE,
    errors=[EnvironmentNotFound, EnvironmentBusy],
)
async def renew_environment(call: Call, environment: VisibleEnvironment) -> LeaseView:
    """Renew the lease of an environment, with a new token for its metrics; the one before ends at once."""
    return await actions.renew(call.tx, environment)
