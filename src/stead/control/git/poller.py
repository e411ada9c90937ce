"""Asks repositories for their branches where no hook is heard: over https, a few at once."""

import asyncio
from datetime import timedelta

import structlog

from stead.control.engines.postgres import Database
from stead.control.git import pushes as service
from stead.control.git import service as git
from stead.control.git.advertisement import MOST_BYTES, SERVICE, NotAnAdvertisement, branches
from stead.control.git.rules import Due
from stead.control.http.host_names import NotAnAddress
from stead.control.sites import repositories
from stead.control.webhooks.client import HttpsClient
from stead.control.webhooks.connection import RequestFailed
from stead.control.webhooks.urls import Target

log = structlog.get_logger()

AT_ONCE = 8
_HEADERS = b"User-Agent: git/2.0 (stead)\r\nAccept: application/x-git-upload-pack-advertisement\r\n"
_REASONS = {
    401: "The repository is private: use an ssh address with the deploy key, and a hook.",
    403: "The repository may not be read.",
    404: "There is no such repository, or it is private.",
}


class NotRead(Exception):
    """Why a repository could not be asked, in words that may be shown."""


class Poller:
    def __init__(
        self, database: Database, client: HttpsClient, preview_domain: str, *, seconds: float
    ) -> None:
        self._database, self._client, self._preview_domain = database, client, preview_domain
        self._every = timedelta(seconds=seconds)

    async def poll(self) -> int:
        """Ask all that are due. Any number of workers share them."""
        asked, more = 0, True
        while more:
            due = await self._claim()
            await asyncio.gather(*(self._ask(each) for each in due))
            asked += len(due)
            more = len(due) == AT_ONCE
        return asked

    async def _claim(self) -> list[Due]:
        async with self._database.transaction() as tx:
            return await git.due(tx, self._every, AT_ONCE)

    async def _ask(self, due: Due) -> None:
        try:
            refs = await read_branches(self._client, due.url)
        except NotRead as failure:
            log.info("git.not_read", site=due.site_id, reason=str(failure))
            await service.not_reached(self._database, due, str(failure))
            return
        await service.looked(self._database, due, refs, self._preview_domain)


async def read_branches(client: HttpsClient, url: str) -> dict[str, str]:
    try:
        reply = await client.get(_refs_of(url), _HEADERS, max_bytes=MOST_BYTES)
    except (NotAnAddress, RequestFailed) as failure:
        raise NotRead(str(failure)) from None
    if 300 <= reply.status < 400:
        raise NotRead("It has moved: the address answers with a redirect, which is not followed.")
    if reply.status != 200:
        raise NotRead(_REASONS.get(reply.status, f"It answered {reply.status}."))
    if not reply.complete:
        raise NotRead("Its list of refs is too long.")
    try:
        return branches(reply.body)
    except NotAnAdvertisement as failure:
        raise NotRead(str(failure)) from None


def _refs_of(url: str) -> Target:
    found = repositories.read(url)
    if not found.is_https:
        raise NotAnAddress("Only https repositories are asked.")
    path = f"/{found.path}/info/refs?service={SERVICE}"
    return Target(found.host, found.port or 443, path, found.literal)
