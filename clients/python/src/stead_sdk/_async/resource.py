"""What the resources of the client share."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from stead_sdk import types
from stead_sdk._async.jobs import AsyncJobHandle
from stead_sdk._async.pages import AsyncPager
from stead_sdk.errors import APIConnectionError

if TYPE_CHECKING:
    from stead_sdk._async.client import AsyncStead
    from stead_sdk._async.connections import Response

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


class AsyncResource:
    def __init__(self, client: "AsyncStead") -> None:
        self._client = client

    @property
    def with_raw_response(self) -> "AsyncRawMethods":
        """The same methods, which return the raw response as well."""
        return AsyncRawMethods(self)

    def _handle(
        self, job: Mapping[str, Any] | None, read: Callable[[types.Job], Awaitable[T]]
    ) -> AsyncJobHandle[T]:
        if job is None or "data" not in job:
            raise APIConnectionError("The response names no job. Is the address that of the Stead API?")
        data = job["data"]
        # Functions return the short form of a job.
        known = data if "id" in data else {**data, "id": data["job_id"]}
        return AsyncJobHandle(self._client, types.Job(known, job.get("request_id")), read)


class AsyncRawMethods:
    def __init__(self, resource: AsyncResource) -> None:
        self._resource = resource

    def __getattr__(self, name: str) -> Callable[..., Awaitable[RawResponse]]:
        resource = type(self._resource)
        getattr(resource, name)

        async def call(*args: Any, **fields: Any) -> RawResponse:
            """Of a list, the first page."""
            client = self._resource._client.with_options()
            responses: list[Response] = []
            client._responses = responses
            found = getattr(resource(client), name)(*args, **fields)
            if hasattr(found, "__anext__"):
                raise TypeError(f"`{name}` returns a stream, which has no raw response.")
            parsed = await found.page() if isinstance(found, AsyncPager) else await found
            client._responses = None
            return RawResponse(responses[-1], parsed)

        return call


async def result_of(job: types.Job) -> dict[str, Any]:
    """What a job that creates nothing returns."""
    return dict(job.result or {})
