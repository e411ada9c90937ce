"""The job that sends a greeting."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind


class GreetingWork(Struct, frozen=True):
    text: str


SEND = JobKind(
    "greeting.send",
    params=GreetingWork,
    resource="environment",
    lock="environment",
    limit=timedelta(minutes=5),
    results={"env_id"},
)
