"""What the node does for running WordPress sites on their request: the other end of the platform's plugin."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from stead.node.wordpress.agent_socket import AgentSocket, SiteAnswer, SiteMessage
from stead.node.wordpress.captured_mail import CapturedMails
from stead.node.wordpress.cron_schedule import CronSchedule
from stead.node.wordpress.mail import SiteMail
from stead.node.wordpress.paths import EnvironmentPaths
from stead.node.wordpress.purge_queue import PurgeQueue
from stead.node.wordpress.sign_ins import SignIns
from stead.node.wordpress.traces import SiteTraces

PURGE_ANSWER_SECONDS = 1.0
TRACES_SOCKET = "traces.sock"


class SiteServices:
    def __init__(
        self,
        purges: PurgeQueue,
        schedule: CronSchedule,
        mail: SiteMail,
        captured: CapturedMails,
        sign_ins: SignIns | None = None,
    ) -> None:
        self._purges, self.schedule, self._mail, self.captured = purges, schedule, mail, captured
        self._sign_ins = sign_ins or SignIns()
        self.traces = SiteTraces()
        self._clones: set[str] = set()
        self.components_changed: dict[str, float] = {}
        """When a site has said that it has other plugins or themes, in seconds since 1970."""
        self._sockets: dict[str, AsyncExitStack] = {}

    def background_tasks(self) -> Mapping[str, Callable[[], Coroutine[Any, Any, None]]]:
        return {"wordpress.purge": self._purges.run, "wordpress.mail": self._mail.run}

    def count_purges(self, environment: str) -> int:
        return self._purges.count(environment)

    async def open(self, paths: EnvironmentPaths, *, is_clone: bool) -> None:
        """Listen to the site, unless this is done already. The mail of a clone is captured."""
        name = paths.environment
        if is_clone:
            self._clones.add(name)
        if name in self._sockets:
            return
        stack = AsyncExitStack()
        socket = AgentSocket(partial(self._handle, name), partial(self.adopt, name))
        await stack.enter_async_context(socket.listen(paths.agent_socket))
        # On a socket of their own: traces that are too many must not delay or lose anything else.
        traces = AgentSocket(partial(self._handle_trace, name), lambda: None)
        await stack.enter_async_context(traces.listen(paths.agent_socket.with_name(TRACES_SOCKET)))
        self._sockets[name] = stack

    def adopt(self, environment: str) -> None:
        """The site has sent something that nobody has read: what it has changed is not known."""
        self._purges.add(environment, None)
        self.schedule.ask_soon(environment)

    async def forget(self, environment: str) -> None:
        """The environment is removed from the node."""
        await self.close(environment)
        self.schedule.forget(environment)
        self._purges.forget(environment)
        self._sign_ins.forget(environment)
        await self._mail.forget(environment)
        self.captured.forget(environment)
        self._clones.discard(environment)
        self.components_changed.pop(environment, None)

    async def close(self, environment: str) -> None:
        if stack := self._sockets.pop(environment, None):
            await stack.aclose()

    async def close_all(self) -> None:
        for name in list(self._sockets):
            await self.close(name)

    async def _handle_trace(
        self, environment: str, message: SiteMessage, reader: asyncio.StreamReader
    ) -> SiteAnswer:
        del reader
        if message.trace is not None:
            self.traces.add(environment, message.trace)
        return SiteAnswer()

    async def _handle(
        self, environment: str, message: SiteMessage, reader: asyncio.StreamReader
    ) -> SiteAnswer:
        if message.components:
            self.components_changed[environment] = time.time()
        if message.cron is not None:
            self.schedule.report(environment, message.cron)
        if message.mail is not None and environment in self._clones:
            return SiteAnswer(await self.captured.accept(environment, message.mail, reader))
        if message.sign_in is not None:
            return await self._sign_ins.redeem(environment, message.sign_in)
        if message.mail is not None:
            return SiteAnswer(await self._mail.accept(environment, message.mail, reader))
        if message.purge_all or message.purge:
            done = self._purges.add(environment, None if message.purge_all else message.purge)
            # It is done also if the site does not wait for it.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PURGE_ANSWER_SECONDS):
                    await done.wait()
        return SiteAnswer()
