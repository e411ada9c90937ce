"""The kinds of job of functions. Builds of functions are builds like all others."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind


class FunctionDeployment(Struct, frozen=True):
    function: str
    version: str


class FunctionRemoval(Struct, frozen=True):
    function: str


def _deployment_kind(type_: str) -> JobKind[FunctionDeployment]:
    return JobKind(
        type_,
        params=FunctionDeployment,
        resource="function",
        lock="environment",
        limit=timedelta(minutes=15),
        results={"artifact_id", "digest", "url", "env_id"},
    )


DEPLOY = _deployment_kind("deployment.wasm_deploy")
ROLLBACK = _deployment_kind("deployment.wasm_rollback")
REMOVE = JobKind(
    "function.delete",
    params=FunctionRemoval,
    resource="function",
    lock="environment",
    limit=timedelta(minutes=10),
)
"""Removes a function that was deleted from the edges and its node."""
