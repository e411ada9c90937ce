"""Follows a job. Its end is read from the job itself, whatever happened to the stream."""

import sys
from typing import Any

from stead_cli.session import Session
from stead_cli.texts import output_line
from stead_sdk import errors, types
from stead_sdk._sync.jobs import FINAL, JobHandle


def follow(
    session: Session, handle: JobHandle[Any], *, timeout: float | None = None, output: bool = False
) -> types.Job:
    """Print the output of the job until it ends: to stderr, or to stdout if `output` is the result."""
    try:
        return _follow(session, handle, timeout, output)
    except KeyboardInterrupt:
        session.say(f"\nThe job goes on. Follow it with `stead follow {handle.id}`.")
        raise


def _follow(session: Session, handle: JobHandle[Any], timeout: float | None, output: bool) -> types.Job:
    if timeout is None and (output or not (session.as_json or session.is_quiet)):
        try:
            for event in handle.events():
                if event.line is not None:
                    write_line(event.line, to_stdout=output)
        except errors.APIError as error:
            # Too many streams, for example. The job can still be asked.
            if isinstance(error, errors.NotFound | errors.AuthenticationError | errors.PermissionDenied):
                raise
        except errors.APIConnectionError:
            session.say("The stream cannot be read. Waiting for the job …")
    if handle.job.status in FINAL and timeout is None:
        job = handle.refresh()
        if job.status == "failed":
            raise errors.JobFailed(job)
        return job
    return handle.wait(timeout)


def write_line(line: str, *, to_stdout: bool) -> None:
    """A program that reads stdout gets the line as it is."""
    stream = sys.stdout if to_stdout else sys.stderr
    shown = line if to_stdout and not stream.isatty() else output_line(line, stream)
    stream.write(shown + "\n")
    stream.flush()
