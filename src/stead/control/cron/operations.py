"""HTTP operations on scheduled events."""

from stead.control.cron import service
from stead.control.cron.rules import CronNotFound
from stead.control.cron.schema import CronChange, CronView, NewCron
from stead.control.environments.rules import VisibleEnvironment
from stead.control.environments.twins import TwinOperations
from stead.control.http.operations import Call, Later, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.sites.question_rules import QUESTION_ERRORS, SiteRefused
from stead.control.sites.rules import SiteBusy
from stead.shared.errors import ApiError

operation = Operations(tag="Scheduled events")
_twice = TwinOperations(operation)

_READ, _WRITE, _CRON = "cron:read", service.WRITE, "cron"
_WRITING: tuple[type[ApiError], ...] = (SiteBusy, SiteRefused, *QUESTION_ERRORS)
_ONE = "/cron/{cron_id}"


@_twice("GET /cron", id="cron.list", scope=_READ, capability=_CRON, errors=QUESTION_ERRORS)
async def list_cron(call: Call, environment: VisibleEnvironment, page: PageRequest) -> Later[Page[CronView]]:
    """List the scheduled events of a site, the next one first."""
    return await service.browse(call, environment, page)


@_twice(f"GET {_ONE}", id="cron.get", scope=_READ, capability=_CRON, errors=(CronNotFound, *QUESTION_ERRORS))
async def get_cron(call: Call, environment: VisibleEnvironment, cron_id: str) -> Later[CronView]:
    """Read a scheduled event. A repeated event keeps its id from run to run."""
    return await service.read(call, environment, cron_id)


@_twice("POST /cron", id="cron.create", scope=_WRITE, status=201, capability=_CRON, errors=_WRITING)
async def create_cron(call: Call, environment: VisibleEnvironment, body: NewCron) -> Later[CronView]:
    """Schedule an event. A repeated event runs for the first time when its interval has passed."""
    return await service.create(call, environment, body)


@_twice(f"PATCH {_ONE}", id="cron.update", scope=_WRITE, capability=_CRON, errors=(CronNotFound, *_WRITING))
async def update_cron(
    call: Call, environment: VisibleEnvironment, cron_id: str, body: CronChange
) -> Later[CronView]:
    """Change when an event runs, or its arguments.

    The id depends on the hook, the arguments and the recurrence, or the time of an event that runs once. If
    one of them changes, the response has the new id.
    """
    return await service.update(call, environment, cron_id, body)


@_twice(f"DELETE {_ONE}", id="cron.delete", scope=_WRITE, capability=_CRON, errors=(CronNotFound, *_WRITING))
async def delete_cron(call: Call, environment: VisibleEnvironment, cron_id: str) -> Later[None]:
    """Remove a scheduled event."""
    return await service.delete(call, environment, cron_id)


@_twice(
    f"POST {_ONE}/run",
    id="cron.run",
    scope=_WRITE,
    job="job.exec",
    capability=_CRON,
    errors=(CronNotFound, JobsWaiting, *_WRITING),
)
async def run_cron(call: Call, environment: VisibleEnvironment, cron_id: str) -> Later[JobView]:
    """Run an event now. WP-CLI runs all events of its hook; what they print is the output of the job."""
    return await service.run(call, environment, cron_id)
