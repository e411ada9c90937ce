"""Lets people use the databases of WordPress environments, with the passwords of the access lists.

Which password counts, and which schema the environment uses, can both change at any time. What is in force is
compared with that every few seconds, and at once after a change of the lists.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

import structlog

from stead.mariadb.connection import StatementFailed
from stead.mariadb.data_directory import ServerUnavailable
from stead.node.access.table import AccessTable
from stead.node.databases.names import schema_name
from stead.node.databases.people_accounts import PeopleAccounts
from stead.node.drivers.driver import Driver, Handler
from stead.node.hosting.desired_state import DesiredState
from stead.node.wordpress.spec import WordPressSecrets, WordPressSpec
from stead.shared.ids import EnvironmentId

COMPARE_SECONDS = 2.0

log = structlog.get_logger()


class PeopleDatabases(Driver):
    def __init__(
        self,
        access: AccessTable,
        accounts: PeopleAccounts,
        state: DesiredState[WordPressSpec, WordPressSecrets],
    ) -> None:
        self._access, self._accounts, self._state = access, accounts, state
        self._open: dict[EnvironmentId, tuple[str, bytes]] | None = None
        """The schema and the password of each environment that people can use now; None before the first
        comparison, when an earlier agent may have opened others."""
        self._changing = asyncio.Lock()
        self._changed = asyncio.Event()
        access.add_listener(lambda _: self._changed.set())

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        """None: which passwords count is the work of `AccessDriver`."""
        return ()

    def background_tasks(self) -> Mapping[str, Callable[[], Coroutine[Any, Any, None]]]:
        return {"databases.people": self.run}

    async def run(self) -> None:
        while True:
            self._changed.clear()
            try:
                await self.compare()
            except (ServerUnavailable, StatementFailed) as error:
                log.warning("databases.people_not_compared", reason=str(error))
            with suppress(TimeoutError):
                async with asyncio.timeout(COMPARE_SECONDS):
                    await self._changed.wait()

    async def compare(self) -> None:
        """Open what people may use, and close everything else. An environment for which this fails does not
        keep the others from it."""
        if self._open is None:
            if not self._state.specs():
                # A node without sites has no server.
                return
            await self._accounts.close_all_but(self._list_wanted())
            self._open = {}
        wanted = self._list_wanted()
        for environment in sorted(self._open.keys() - wanted.keys()):
            await self._change(environment)
        for environment in sorted(name for name in wanted if self._open.get(name) != wanted[name]):
            await self._change(environment)

    async def _change(self, environment: EnvironmentId) -> None:
        """Open or close one environment, as it is wanted now."""
        async with self._changing:
            wanted = self._list_wanted(only=environment).get(environment)
            assert self._open is not None  # noqa: S101
            try:
                if wanted is None:
                    await self._close(environment)
                elif self._open.get(environment) != wanted:
                    await self._accounts.open(environment, *wanted)
                    self._open[environment] = wanted
            except (StatementFailed, ValueError) as error:
                log.warning("databases.people_not_changed", environment=environment, reason=str(error))

    async def end_use(self, environment: str) -> None:
        """Before an environment uses another schema, or none. The next comparison does it again."""
        name = EnvironmentId(environment)
        async with self._changing:
            if self._open is not None and name in self._open:
                with suppress(ServerUnavailable, StatementFailed):
                    await self._close(name)

    async def _close(self, environment: EnvironmentId) -> None:
        await self._accounts.close(environment)
        if self._open is not None:
            self._open.pop(environment, None)

    async def tidy(self) -> None:
        """The users of environments that are not on this node any more are not needed."""
        async with self._changing:
            here = {EnvironmentId(name) for name in self._state.specs()}
            if not here and self._open is None:
                return
            with suppress(ServerUnavailable, StatementFailed):
                await self._accounts.drop_all_but(here)

    def _list_wanted(self, only: str | None = None) -> dict[EnvironmentId, tuple[str, bytes]]:
        passwords = self._access.list_database_passwords(only)
        if not passwords:
            return {}
        active, specs = self._state.list_active(), self._state.specs()
        return {
            EnvironmentId(name): (
                schema_name(EnvironmentId(name), specs[name].datasets.schema),
                password.double_sha1,
            )
            for name, password in passwords.items()
            if name in active and specs[name].state == "installed"
        }
