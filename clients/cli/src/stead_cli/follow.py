"""Follows a job. Its end is read from the job itself, whatever happened to the stream."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from stead_cli.failures import UNAVAILABLE, CliError
from stead_cli.session import Session
from stead_cli.texts import output_line, write_error
from stead_sdk import errors, types
from stead_sdk._sync.jobs import FINAL, JobHandle

Job = JobHandle[Any]
Write = Callable[[str], None]


def follow(session: Session, handle: Job, *, timeout: float | None = None) -> types.Job:
    """Show the output of the job on stderr until it ends."""
    with _interruptible(session, handle):
        is_shown = timeout is None and not (session.as_json or session.is_quiet)
        if is_shown and not _read_lines(handle, show_line):
            session.say("The stream cannot be read. Waiting for the job …")
        return _wait(handle, timeout)


def follow_output(session: Session, handle: Job, write: Write) -> types.Job:
    """The same for a job whose output is the result. Raises an error if a line of it may be missing."""
    with _interruptible(session, handle):
        is_complete = _read_lines(handle, write)
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


def _read_lines(handle: Job, write: Write) -> bool:
    """Whether the stream could be read to its end. There may be too many streams, for example."""
    try:
        for event in handle.events():
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
