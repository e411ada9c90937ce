"""Runs the sessions of the SSH gateway beside the sites."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from stead.node.drivers.driver import Driver, Handler
from stead.node.ssh.sessions import SshSessions
from stead.node.wordpress.runtime import WordPressRuntime


class SshDriver(Driver):
    """It has no work of its own: who may enter is the work of `AccessDriver`."""

    def __init__(self, sessions: SshSessions, runtime: WordPressRuntime) -> None:
        self._sessions = sessions
        runtime.before_closing(
            lambda environment: sessions.end(
                environment, "the site is suspended, deleted or replaced by a job"
            )
        )

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return ()

    def background_tasks(self) -> Mapping[str, Callable[[], Coroutine[Any, Any, None]]]:
        return {"ssh.sessions": self._sessions.run}
