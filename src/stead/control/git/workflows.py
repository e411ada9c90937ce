"""What pushes have to do with the jobs of sites."""

from stead.control.builds import workflows as build_jobs
from stead.control.engines.postgres import Tx
from stead.control.git import pushes as service
from stead.control.sites import workflows as site_jobs


async def first_push(tx: Tx, site: str) -> None:
    await service.first_push(tx, site, build=build_jobs.RUN)


site_jobs.OPENED.append(first_push)
