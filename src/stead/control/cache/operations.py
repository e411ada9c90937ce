"""The HTTP operation that purges the page cache."""

from stead.control.cache import service
from stead.control.cache.schema import NewPurge
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Operations
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.sites.rules import SiteBusy

operation = Operations(tag="Edge")


@operation(
    "POST /v1/sites/{site_id}/environments/{env_id}/cache/purge",
    id="cache.purge",
    scope="cache:write",
    job="job.cache_purge",
    errors=[EnvironmentNotFound, SiteBusy, JobsWaiting],
)
async def purge_cache(call: Call, environment: VisibleEnvironment, body: NewPurge | None) -> JobView:
    """Purge pages from the cache of an environment: all pages, those of a URL, or those with a tag.

    When the job has succeeded, no visitor gets an older copy, not even one that was being fetched meanwhile.
    """
    return await service.purge(call.tx, environment, body)
