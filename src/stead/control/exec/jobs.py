"""The kind of job that runs a command in an environment."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind
from stead.protocol.work.access import Shell


class CommandWork(Struct, frozen=True):
    environment: str
    shell: Shell
    args: str
    """Sealed: an argument may be a password."""
    restricted: bool


RUN_COMMAND = JobKind(
    "job.exec",
    params=CommandWork,
    resource="environment",
    lock="environment",
    limit=timedelta(minutes=15),
    parallel=4,
)
