# Generated from `_async/resource.py` by `make generate`.
"""What the resources of the client share."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from stead_sdk import types
from stead_sdk._sync.jobs import JobHandle
from stead_sdk._sync.pages import Pager
from stead_sdk.errors import APIConnectionError

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

    def _handle(self, job: Mapping[str, Any] | None, read: Callable[[types.Job], T]) -> JobHandle[T]:
        if job is None or "data" not in job:
            raise APIConnectionError("The response names no job. Is the address that of the Stead API?")
        data = job["data"]
        # Functions return the short form of a job.
        known = data if "id" in data else {**data, "id": data["job_id"]}
        return JobHandle(self._client, types.Job(known, job.get("request_id")), read)


class RawMethods:
    def __init__(self, resource: Resource) -> None:
        self._resource = resource

    def __getattr__(self, name: str) -> Callable[..., RawResponse]:
        resource = type(self._resource)
        getattr(resource, name)

        def call(*args: Any, **fields: Any) -> RawResponse:
            """Of a list, the first page."""
            client = self._resource._client.with_options()
            responses: list[Response] = []
            client._responses = responses
            found = getattr(resource(client), name)(*args, **fields)
            if hasattr(found, "__next__"):
                raise TypeError(f"`{name}` returns a stream, which has no raw response.")
            parsed = found.page() if isinstance(found, Pager) else found
            client._responses = None
            return RawResponse(responses[-1], parsed)

        return call


def result_of(job: types.Job) -> dict[str, Any]:
    """What a job that creates nothing returns."""
    return dict(job.result or {})
