"""Polls the branches of https repositories that send no hooks, a few at a time."""

import asyncio
import time
from collections import Counter
from datetime import timedelta

import structlog

from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database, Tx
from stead.control.environments import maintenance as environments
from stead.control.git import store
from stead.control.git.events import GIT_UNREACHABLE
from stead.control.git.poll_changes import find_changes
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

SLOTS, FAILING_SLOTS = 24, 8
"""How many repositories are polled at once: those that could be read the last time, and those that could not.
Slow repositories time out, and then only wait for each other."""
PER_OWNER = 2
"""How many repositories of one owner are polled at once."""
FETCH_SECONDS = 10.0
"""The limit for reading the branches of one repository."""
POLL_SECONDS = 30.0
"""The limit for one repository: reading its branches and recording the changes."""
CLAIM_SECONDS = 1.0
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
    """`extra_ports` are ports that repositories may use besides those of https and ssh."""

    def __init__(
        self,
        database: Database,
        client: HttpsClient,
        preview_domain: str,
        *,
        seconds: float,
        extra_ports: frozenset[int] = frozenset(),
    ) -> None:
        self._database, self._client, self._preview_domain = database, client, preview_domain
        self._interval, self._extra_ports = timedelta(seconds=seconds), extra_ports
        self._running: dict[asyncio.Task[None], DueRepository] = {}

    async def poll(self) -> int:
        """Poll all repositories that are due; any number of workers share them. Returns how many.

        A slot is used again as soon as its repository has been polled, so a slow one delays no others.
        """
        polled, until = 0, time.monotonic() + self._interval.total_seconds()
        async with self._database.transaction() as tx:
            await store.add_missing_connections(tx, self._interval)
        try:
            polled += await self._start_due()
            while self._running:
                await asyncio.wait(self._running, timeout=CLAIM_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                self._forget_finished()
                # After this time, the first repositories may be due again.
                polled += await self._start_due() if time.monotonic() < until else 0
            return polled
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
            self._running.clear()

    async def _start_due(self) -> int:
        started = 0
        for failing, slots in ((False, SLOTS), (True, FAILING_SLOTS)):
            free = slots - sum((each.failures > 0) == failing for each in self._running.values())
            for due in await self._claim(free, failing=failing) if free > 0 else ():
                self._running[asyncio.create_task(self._poll_safely(due))] = due
                started += 1
        return started

    def _forget_finished(self) -> None:
        for task in [each for each in self._running if each.done()]:
            del self._running[task]

    async def _claim(self, limit: int, *, failing: bool) -> list[DueRepository]:
        owners = Counter(each.owner for each in self._running.values())
        async with self._database.transaction() as tx:
            return await store.claim_due_repositories(
                tx, self._interval, limit, owners, per_owner=PER_OWNER, failing=failing
            )

    async def _poll_safely(self, due: DueRepository) -> None:
        """A repository that cannot be polled is polled again at the next interval."""
        try:
            await self._poll_repository(due)
        except DATABASE_UNREACHABLE as error:
            log.warning("git.poll_postponed", site=due.site_id, reason=type(error).__name__)
        except Exception as error:  # noqa: BLE001 - the other repositories must still be polled
            log.error("git.poll_failed", site=due.site_id, error=type(error).__name__)

    async def _poll_repository(self, due: DueRepository) -> None:
        try:
            async with asyncio.timeout(POLL_SECONDS) as limit:
                self._require_allowed_port(due.url)
                branches = await fetch_branches(self._client, due.url)
                await self._record_branches(due, branches)
        except RepositoryUnreadable as failure:
            await self._record_failure(due, str(failure))
        except TimeoutError:
            if not limit.expired():
                raise
            await self._record_failure(due, "Reading the repository took too long.")

    def _require_allowed_port(self, url: str) -> None:
        try:
            repositories.require_allowed_port(repositories.parse_url(url), self._extra_ports)
        except InvalidUrl as reason:
            raise RepositoryUnreadable(f"This repository cannot be used: {reason}") from None

    async def _record_failure(self, due: DueRepository, reason: str) -> None:
        log.info("git.not_read", site=due.site_id, reason=reason)
        async with self._database.transaction() as tx:
            connection = await store.lock_connection(tx, due.site_id)
            if connection is None or _is_superseded(due, connection):
                return
            if await store.record_poll(tx, due.site_id, reason) == UNREACHABLE_AFTER:
                about = connection.about()
                await publish(tx, GIT_UNREACHABLE, about, domain=connection.domain, reason=reason)

    async def _record_branches(self, due: DueRepository, branches: dict[str, str]) -> None:
        """Act on the changes since the last poll and record all branches, in one transaction."""
        async with self._database.transaction() as tx:
            connection = await store.lock_connection(tx, due.site_id)
            if connection is None or _is_superseded(due, connection):
                return
            await store.record_poll(tx, due.site_id, None)
            if connection.branches == branches:
                return
            with_environment = await environments.list_branches(tx, due.site_id)
            # In a thread: a repository may have thousands of branches, and its site a hundred rules.
            changes = await asyncio.to_thread(find_changes, connection, branches, with_environment)
            for push in changes.pushes:
                await self._receive(tx, connection, push)
            await store.record_all_branches(tx, due.site_id, changes.heads)

    async def _receive(self, tx: Tx, connection: Connection, push: Push) -> None:
        try:
            async with tx.savepoint():
                await receive_push(tx, connection, push, self._preview_domain)
        except ApiError as refusal:
            await skip_push(tx, connection, push, refusal)


def _is_superseded(due: DueRepository, connection: Connection) -> bool:
    """Whether a hook arrived during the poll. What it reported may be newer, so it takes precedence."""
    return connection.last_hook_at != due.last_hook_at


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
        return await asyncio.to_thread(parse_branches, reply.body)
    except InvalidAdvertisement as failure:
        raise RepositoryUnreadable(str(failure)) from None


def _refs_address(url: str) -> Target:
    repository = repositories.parse_url(url)
    if not repository.is_https:
        raise InvalidUrl("Only https repositories are polled.")
    path = f"/{repository.path}/info/refs?service={SERVICE}"
    return Target(repository.host, repository.port or 443, path, repository.literal)
