# Generated from `_async/resource.py` by `make generate`.
"""What the resources of the client share."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from stead_sdk import types
from stead_sdk._sync.jobs import JobHandle

if TYPE_CHECKING:
    from stead_sdk._sync.client import Stead
    from stead_sdk._sync.connections import Response

T = TypeVar("T")


class RawResponse(NamedTuple):
    """A response as it arrived, and what the method would have returned."""

    response: "Response"
    parsed: Any

    @property
    def status(self) -> int:
        return self.response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self.response.headers

    @property
    def request_id(self) -> str | None:
        return self.response.request_id


class Resource:
    def __init__(self, client: "Stead") -> None:
        self._client = client

    @property
    def with_raw_response(self) -> "RawMethods":
        """The same methods, which return the raw response as well."""
        return RawMethods(self)

    def _handle(self, job: Mapping[str, Any], read: Callable[[types.Job], T]) -> JobHandle[T]:
        data = job["data"]
        # Functions return the short form of a job.
        known = data if "id" in data else {**data, "id": data["job_id"]}
        return JobHandle(self._client, types.Job(known, job.get("request_id")), read)


class RawMethods:
    def __init__(self, resource: Resource) -> None:
        self._resource = resource

    def __getattr__(self, name: str) -> Callable[..., RawResponse]:
        client = self._resource._client.with_options()
        responses: list[Response] = []
        client._responses = responses
        method = getattr(type(self._resource)(client), name)

        def call(*args: Any, **fields: Any) -> RawResponse:
            parsed = method(*args, **fields)
            return RawResponse(responses[-1], parsed)

        return call


def result_of(job: types.Job) -> dict[str, Any]:
    """What a job that creates nothing returns."""
    return dict(job.result or {})
