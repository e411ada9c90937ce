"""Polls the branches of https repositories that send no hooks, a few at a time."""

import asyncio
from datetime import timedelta

import structlog

from stead.control.engines.postgres import Database
from stead.control.git import store
from stead.control.git.events import GIT_UNREACHABLE
from stead.control.git.pushes import receive_push, skip_push
from stead.control.git.ref_advertisement import MAX_BYTES, SERVICE, InvalidAdvertisement, parse_branches
from stead.control.git.rules import Connection, DueRepository, Push
from stead.control.http.host_names import InvalidUrl
from stead.control.outbox.events import publish
from stead.control.sites import repositories
from stead.control.webhooks.client import HttpsClient
from stead.control.webhooks.connection import RequestFailed
from stead.control.webhooks.urls import Target
from stead.shared.errors import ApiError

log = structlog.get_logger()

BATCH_SIZE = 8
UNREACHABLE_AFTER = 3
"""Failures in a row after which the owner is notified."""
_HEADERS = b"User-Agent: git/2.0 (stead)\r\nAccept: application/x-git-upload-pack-advertisement\r\n"
_REASONS = {
    401: "The repository is private: use an ssh address with the deploy key, and a hook.",
    403: "The repository may not be read.",
    404: "There is no such repository, or it is private.",
}


class RepositoryUnreadable(Exception):
    """The branches could not be read. The message says why and may be shown to customers."""


class Poller:
    def __init__(
        self, database: Database, client: HttpsClient, preview_domain: str, *, seconds: float
    ) -> None:
        self._database, self._client, self._preview_domain = database, client, preview_domain
        self._interval = timedelta(seconds=seconds)

    async def poll(self) -> int:
        """Poll all repositories that are due; any number of workers share them. Returns how many."""
        polled, is_full = 0, True
        while is_full:
            due = await self._claim()
            await asyncio.gather(*(self._poll_repository(each) for each in due))
            polled += len(due)
            is_full = len(due) == BATCH_SIZE
        return polled

    async def _claim(self) -> list[DueRepository]:
        async with self._database.transaction() as tx:
            await store.add_missing_connections(tx, self._interval)
            return await store.claim_due_repositories(tx, self._interval, BATCH_SIZE)

    async def _poll_repository(self, due: DueRepository) -> None:
        try:
            branches = await fetch_branches(self._client, due.url)
        except RepositoryUnreadable as failure:
            log.info("git.not_read", site=due.site_id, reason=str(failure))
            await self._record_failure(due, str(failure))
            return
        for push in await self._record_branches(due, branches):
            await self._receive(due, push)

    async def _record_failure(self, due: DueRepository, reason: str) -> None:
        async with self._database.transaction() as tx:
            connection = await store.lock_connection(tx, due.site_id)
            if connection is None or _is_superseded(due, connection):
                return
            if await store.record_poll(tx, due.site_id, reason) == UNREACHABLE_AFTER:
                about = connection.about()
                await publish(tx, GIT_UNREACHABLE, about, domain=connection.domain, reason=reason)

    async def _record_branches(self, due: DueRepository, branches: dict[str, str]) -> list[Push]:
        """Record a successful poll. Returns the changes since the last one, as pushes."""
        async with self._database.transaction() as tx:
            connection = await store.lock_connection(tx, due.site_id)
            if connection is None or _is_superseded(due, connection):
                return []
            await store.record_poll(tx, due.site_id, None)
            if connection.branches is None:
                await store.record_all_branches(tx, due.site_id, branches)
        return _find_changes(connection, branches)

    async def _receive(self, due: DueRepository, push: Push) -> None:
        """If the push is refused, the transaction is rolled back, and a second one records the refusal."""
        refusal: ApiError | None = None
        for _ in range(2):
            try:
                async with self._database.transaction() as tx:
                    connection = await store.lock_connection(tx, due.site_id)
                    if connection is None or _is_superseded(due, connection):
                        return
                    if refusal is not None:
                        await skip_push(tx, connection, push, refusal)
                    else:
                        await receive_push(tx, connection, push, self._preview_domain)
                    return
            except ApiError as refused:
                refusal = refused


def _is_superseded(due: DueRepository, connection: Connection) -> bool:
    """Whether a hook arrived during the poll. What it reported may be newer, so it takes precedence."""
    return connection.last_hook_at != due.last_hook_at


def _find_changes(connection: Connection, branches: dict[str, str]) -> list[Push]:
    known = connection.branches
    if known is None:
        # At the first poll, existing branches are not pushes, except the branch that the site awaits.
        is_awaiting = connection.status == "awaiting_push"
        awaited = [name for name in branches if is_awaiting and connection.choose_target(name) == "live"]
        return [Push(name, branches[name], "poll") for name in awaited]
    moved = [Push(name, commit, "poll") for name, commit in branches.items() if known.get(name) != commit]
    return moved + [Push(name, None, "poll") for name in known if name not in branches]


async def fetch_branches(client: HttpsClient, url: str) -> dict[str, str]:
    try:
        reply = await client.get(_refs_address(url), _HEADERS, max_bytes=MAX_BYTES)
    except (InvalidUrl, RequestFailed) as failure:
        raise RepositoryUnreadable(str(failure)) from None
    if 300 <= reply.status < 400:
        raise RepositoryUnreadable("The repository's address redirects; redirects are not followed.")
    if reply.status != 200:
        raise RepositoryUnreadable(_REASONS.get(reply.status, f"The server answered {reply.status}."))
    if not reply.complete:
        raise RepositoryUnreadable("The list of refs is too long.")
    try:
        return parse_branches(reply.body)
    except InvalidAdvertisement as failure:
        raise RepositoryUnreadable(str(failure)) from None


def _refs_address(url: str) -> Target:
    repository = repositories.parse_url(url)
    if not repository.is_https:
        raise InvalidUrl("Only https repositories are polled.")
    path = f"/{repository.path}/info/refs?service={SERVICE}"
    return Target(repository.host, repository.port or 443, path, repository.literal)
