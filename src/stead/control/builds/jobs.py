"""The kind of job that builds an artifact."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind


class BuildWork(Struct, frozen=True):
    build: str


RUN = JobKind(
    "build.run",
    params=BuildWork,
    resource="build",
    lock="environment",
    limit=timedelta(minutes=30),
    results={"artifact_id", "build_id", "digest", "commit", "ref", "deployment_id", "url"},
)
