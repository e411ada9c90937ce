"""Follows a job. Its end is read from the job itself, whatever happened to the stream."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from stead_cli.failures import UNAVAILABLE, CliError
from stead_cli.session import Session
from stead_cli.texts import output_line, write_error
from stead_sdk import errors, types
from stead_sdk._sync.jobs import FINAL, JobEvent, JobHandle

Job = JobHandle[Any]
Write = Callable[[str], None]


def follow(session: Session, handle: Job, *, timeout: float | None = None) -> types.Job:
    """Show the output of the job on stderr until it ends, or until the time is over."""
    ends = None if timeout is None else time.monotonic() + timeout
    with _interruptible(session, handle):
        is_shown = not (session.as_json or session.is_quiet)
        events = handle.events() if ends is None else _events_until(handle, ends)
        if is_shown and not _read_lines(events, show_line):
            session.say("The stream cannot be read. Waiting for the job …")
        return _wait(handle, None if ends is None else max(0.0, ends - time.monotonic()))


def follow_output(session: Session, handle: Job, write: Write) -> types.Job:
    """The same for a job whose output is the result. Raises an error if a line of it may be missing."""
    with _interruptible(session, handle):
        is_complete = _read_lines(handle.events(), write)
        job = _wait(handle, None)
    if not is_complete:
        raise CliError(
            "The job has succeeded, but its output could not be read to the end.",
            code="output.incomplete",
            fix=f"stead follow {handle.id}",
            exit_code=UNAVAILABLE,
        )
    return job


@contextmanager
def _interruptible(session: Session, handle: Job) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        session.say(f"\nThe job goes on. Follow it with `stead follow {handle.id}`.")
        raise


def _events_until(handle: Job, ends: float) -> Iterator[JobEvent]:
    """The events until a time. A thread reads them: nothing else ends a read that waits."""
    import queue
    import threading

    found: queue.SimpleQueue[JobEvent | Exception | None] = queue.SimpleQueue()

    def read() -> None:
        try:
            for event in handle.events():
                found.put(event)
        except Exception as error:  # noqa: BLE001 - whoever takes the events raises it
            found.put(error)
        else:
            found.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            event = found.get(timeout=max(0.0, ends - time.monotonic()))
        except queue.Empty:
            return
        if event is None:
            return
        if isinstance(event, Exception):
            raise event
        yield event


def _read_lines(events: Iterable[JobEvent], write: Write) -> bool:
    """Whether the stream could be read to its end. There may be too many streams, for example."""
    try:
        for event in events:
            if event.line is not None:
                write(event.line)
    except (errors.NotFound, errors.AuthenticationError, errors.PermissionDenied):
        raise
    except (errors.APIError, errors.APIConnectionError):
        return False
    return True


def _wait(handle: Job, timeout: float | None) -> types.Job:
    if handle.job.status in FINAL and timeout is None:
        job = handle.refresh()
        if job.status == "failed":
            raise errors.JobFailed(job)
        return job
    return handle.wait(timeout)


def show_line(line: str) -> None:
    """On stderr."""
    write_error(output_line(line, sys.stderr) + "\n")


def print_line(line: str) -> None:
    """On stdout. A program that reads it gets the line as it is."""
    shown = output_line(line, sys.stdout) if sys.stdout.isatty() else line
    sys.stdout.write(shown + "\n")
    sys.stdout.flush()
