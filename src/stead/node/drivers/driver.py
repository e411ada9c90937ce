"""What a driver is: an engine behind some kinds of work, with a handler for each kind that it supports.

A new driver extends `Driver`, lists its handlers and is added to `installed.py`. Handlers make an end state
true, so calling one twice has the same effect as calling it once.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from stead.node.processes import StreamName
from stead.protocol.commands import CapturedMail
from stead.protocol.questions import Question
from stead.protocol.work import NodeWork, WorkResult
from stead.shared.wording import clean_reason

W = TypeVar("W", bound=NodeWork)


class Refusal(Exception):
    """The node will never do this, so repeating the command does not help. Every other exception of a driver
    leads to another attempt."""

    def __init__(self, code: str, reason: str) -> None:
        """The reason may quote a program of a customer."""
        self.code, self.reason = code, clean_reason(reason)
        super().__init__(code, self.reason)


class Output(Protocol):
    """Where a driver reports what it does; the customer reads it as the job's output."""

    async def say(self, text: str) -> None:
        """Write one line of the node itself."""

    async def chunk(self, stream: StreamName, data: bytes) -> None:
        """Write the next bytes of a program's output; empty bytes end the stream."""


@dataclass(frozen=True)
class SiteLog:
    """A file that an application appends to. It belongs to a customer, and may lose its beginning."""

    environment: str
    path: Path
    container: str


@dataclass(frozen=True)
class SiteContainer:
    """A container that an application runs in, if it runs now."""

    environment: str
    cgroup: str
    name: str


@dataclass(frozen=True)
class SiteSpan:
    """A part of a request, as an application has measured it."""

    environment: str
    trace_id: str
    span_id: str
    parent_id: str
    service: str
    name: str
    began: float
    """In seconds since 1970."""
    duration_us: int
    is_error: bool = False
    status_code: int = 0
    """Of the response; 0 if there is none."""


@dataclass(frozen=True)
class Assignment:
    """The job, site and environment that work is done for, and where to report about it."""

    job: str
    site: str
    environment: str
    output: Output
    step: str = ""
    """The step of the job."""


@dataclass(frozen=True)
class Handler(Generic[W]):
    """A kind of work and the function that does it. It must return the `result_type` of the kind."""

    kind: type[W]
    handle: Callable[[Assignment, W], Awaitable[WorkResult | None]]
    variants: tuple[str, ...] = ("",)
    """The runtimes or builders that it is for, if the kind of work has variants."""


class Driver(ABC):
    @property
    @abstractmethod
    def handlers(self) -> Sequence[Handler[Any]]:
        """One for each kind of work that the driver supports."""

    async def list_environments(self) -> Collection[str]:
        """The environments that the driver keeps on this node."""
        return ()

    def room_mb(self) -> int | None:
        """How much more disk space the driver can promise to environments; None if it makes no promises."""
        return None

    def is_awake(self, environment: str) -> bool:  # noqa: ARG002
        """Whether the environment has an application that runs now."""
        return False

    def count_purges(self, environment: str) -> int:  # noqa: ARG002
        """How often the environment itself has had pages removed from the cache."""
        return 0

    def list_logs(self) -> Sequence[SiteLog]:
        """The files that applications write their messages to."""
        return ()

    def list_containers(self) -> Sequence[SiteContainer]:
        """The containers whose use of the machine is recorded."""
        return ()

    def take_spans(self) -> Sequence[SiteSpan]:
        """What applications have measured since the last call."""
        return ()

    def find_trace(self, environment: str, line: str) -> str:  # noqa: ARG002
        """The trace of the request that has written this line to the log; empty if it is not known."""
        return ""

    def list_captured_mail(self) -> Sequence[CapturedMail]:
        """What clones have tried to send lately."""
        return ()

    def list_changed_components(self) -> Mapping[str, float]:
        """When environments have said that they have other plugins or themes, in seconds since 1970."""
        return {}

    async def answer(self, question: Question) -> bytes | None:  # noqa: ARG002
        """The answer of a site to the API, as JSON; None if the environment is not one of this driver.
        Raises Refusal."""
        return None

    def background_tasks(self) -> Mapping[str, Callable[[], Coroutine[Any, Any, None]]]:
        """What runs beside commands until the agent stops, by name. The agent restarts a task that fails."""
        return {}

    async def tidy(self) -> None:  # noqa: B027 - most drivers leave nothing behind
        """Remove what is no longer needed. Called once an hour."""
