"""The steps that purge the page cache."""

from stead.control.cache import jobs
from stead.control.cache.events import ENVIRONMENT_CACHE_PURGED
from stead.control.cache.jobs import PurgeWork
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.jobs.definition import (
    Announcement,
    Results,
    Workflow,
    announce_step,
    control_step,
    record_nothing,
)
from stead.control.jobs.kinds import Job
from stead.control.sites import service as sites
from stead.protocol.edge_records import PurgeRecord


async def _purge(tx: Tx, job: Job[PurgeWork]) -> Announcement | None:
    return await announcements.purge_cache(
        tx, PurgeRecord(job.params.environment, url=job.params.url, tag=job.params.tag)
    )


async def _finish(tx: Tx, job: Job[PurgeWork]) -> Results | None:
    await sites.publish_job_event(tx, job, ENVIRONMENT_CACHE_PURGED)
    return None


PURGE_CACHE = Workflow(
    jobs.PURGE_CACHE,
    steps=[announce_step("purge", _purge), control_step("done", _finish)],
    failed=record_nothing,
)
