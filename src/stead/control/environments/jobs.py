"""What the jobs of an environment carry with them."""

from msgspec import Struct

from stead.control.environments.rules import EnvironmentStatus


class EnvironmentWork(Struct, frozen=True):
    """`status_before` and `reason_before` are what a job that fails goes back to."""

    environment: str
    status_before: EnvironmentStatus = "running"
    reason_before: str | None = None
    why: str | None = None
    """Said of what nobody asked for: a suspension of what is idle, the end of what has no branch."""
