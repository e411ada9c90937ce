"""`stead follow`."""

import click

from stead_cli.follow import follow as follow_job
from stead_cli.session import Command, Session
from stead_sdk import types
from stead_sdk._sync.jobs import JobHandle


def _follow(session: Session, job_id: str, timeout: float | None) -> None:
    found: JobHandle[types.Job] = JobHandle(
        session.client, session.client.jobs.get(job_id), lambda done: done
    )
    job = follow_job(session, found, timeout=timeout)
    session.show(job.to_dict() if session.as_json else job.status)


follow = Command(
    "follow",
    callback=_follow,
    params=[
        click.Argument(["job_id"]),
        click.Option(["--timeout"], type=float, help="Seconds to wait at most."),
    ],
    help="Follow a job until it ends. The exit code is 3 if it fails.",
)
