# Generated from `_async/client.py` by `make generate`.
"""The client: sends requests with the credential, repeats those that may be repeated, and raises errors."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from stead_sdk import types
from stead_sdk._events import EventParser
from stead_sdk._io_sync import sleep
from stead_sdk._model import Model
from stead_sdk._omit import given
from stead_sdk._repeats import NOT_REPEATABLE
from stead_sdk._retries import Failure, Idempotent, read_retry_after, wait_before_retry
from stead_sdk._sync.connections import Connections, NotSent, Response, Timeouts
from stead_sdk._sync.events import Events
from stead_sdk._sync.resources import Resources
from stead_sdk._urls import percent_encode, query_string
from stead_sdk._version import __version__
from stead_sdk.errors import APIConnectionError, ConfigurationError, SteadError, error_of

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

M = TypeVar("M", bound=Model)
Progress = Callable[[int, int], None]
"""Called with the bytes that were sent, and the total."""

_PART = 262144
_PYTHON = ".".join(map(str, sys.version_info[:3]))


class Stead(Resources):
    """The Stead API.

    `api_key` and `base_url` are taken from `STEAD_API_KEY` and `STEAD_BASE_URL` unless they are given.
    A client keeps connections: use one for many requests, and close it, or use it as a context manager.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        max_retries: int = 2,
        connect_timeout: float = 10.0,
        timeout: float = 60.0,
        ca_file: str | None = None,
        api_version: str | None = None,
        user_agent: str | None = None,
    ) -> None:
        key = api_key if api_key is not None else os.environ.get("STEAD_API_KEY", "")
        address = base_url or os.environ.get("STEAD_BASE_URL")
        if not address:
            raise ConfigurationError("Give `base_url`, or set STEAD_BASE_URL.")
        self._api_key, self.base_url = key.strip(), address.rstrip("/")
        self.max_retries = max_retries
        self._timeouts = Timeouts(connect_timeout, timeout)
        self._connections = Connections(self._timeouts, ca_file)
        self._idempotency_key: str | None = None
        self._responses: list[Response] | None = None
        """Collects raw responses, if somebody asks for them."""
        self._headers = {
            "User-Agent": user_agent or f"stead-sdk/{__version__} python/{_PYTHON}",
            "Accept": "application/json",
        }
        if api_version is not None:
            self._headers["Api-Version"] = api_version

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self.base_url!r})"

    @property
    def is_test(self) -> bool:
        """Whether the key is a test key: its sites are simulated."""
        return self._api_key.startswith("stead_test_")

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The client can still be used, and then opens new ones."""
        self._connections.close()

    def with_options(
        self,
        *,
        max_retries: int | None = None,
        timeout: float | None = None,
        idempotency_key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> "Self":
        """The same client, with the same connections, and other options."""
        other = object.__new__(type(self))
        # Resources refer to the client that they belong to.
        shared = {name: value for name, value in vars(self).items() if not hasattr(value, "_client")}
        vars(other).update(shared)
        if max_retries is not None:
            other.max_retries = max_retries
        if timeout is not None:
            other._timeouts = Timeouts(self._timeouts.connect, timeout)
        if idempotency_key is not None:
            other._idempotency_key = idempotency_key
        if headers is not None:
            other._headers = {**self._headers, **headers}
        return other

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        idempotent: Idempotent | None = None,
    ) -> Response:
        """Send any request, and return the raw response. An error of the API is raised.

        `idempotent` says whether the request may be repeated if no response arrives: `natural` (the default
        for GET and PUT), `key` (with an `Idempotency-Key`, the default for POST and DELETE) or `none` (the
        default for PATCH, and for the few operations without a credential, which ignore the key).
        """
        kind = idempotent or _default_of(method, path)
        url, headers = self._prepare(path, query)
        if kind == "key":
            headers["Idempotency-Key"] = self._idempotency_key or f"stead-python-retry-{os.urandom(16).hex()}"
        data = b""
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body, separators=(",", ":")).encode()
        attempt, may_be_done = 0, False
        while True:
            response, failure = self._try(method, url, headers, data)
            if isinstance(response, Response):
                if self._responses is not None:
                    self._responses.append(response)
                return response
            only_deletes = method == "DELETE" and kind == "natural" and not data
            if may_be_done and only_deletes and failure.status == 404:
                # An earlier attempt, whose response was lost, has deleted it.
                return Response(204, {}, b"")
            wait = wait_before_retry(failure, attempt, kind)
            if wait is None or attempt >= self.max_retries:
                raise response
            may_be_done = may_be_done or failure.may_have_had_effect
            attempt += 1
            sleep(wait)

    def _try(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[Response | SteadError, Failure]:
        """A successful response, or an error and what is known about it."""
        try:
            response = self._connections.send(method, url, headers, body, timeouts=self._timeouts)
        except APIConnectionError as error:
            return error, Failure(was_sent=not isinstance(error, NotSent))
        if response.status < 300 or response.status == 304:
            return response, Failure(response.status)
        if response.status < 400:
            to = response.headers.get("location", "")
            message = f"The server redirects to {to!r}. Is the address that of the Stead API?"
            return APIConnectionError(message), Failure(response.status)
        found = error_of(response.status, response.json(), response.request_id)
        after = read_retry_after(response.headers.get("retry-after"))
        return found, Failure(response.status, found.type, found.code, after)

    def open_events(
        self, path: str, parser: EventParser, query: Mapping[str, object] | None = None
    ) -> Events:
        """Open a stream. `parser` knows the last event of the previous connection."""
        url, headers = self._prepare(path, query)
        headers |= {"Accept": "text/event-stream", "Cache-Control": "no-cache"}
        if parser.last_id:
            headers["Last-Event-ID"] = parser.last_id
        response = self._connections.stream("GET", url, headers, timeouts=self._timeouts)
        if response.status == 200:
            return Events(response, parser)
        try:
            whole = response.read()
        finally:
            response.close()
        raise error_of(whole.status, whole.json(), whole.request_id)

    def download(self, url: str) -> Iterator[bytes]:
        """The content of a URL that a job has returned, in parts. The key is not sent."""
        headers = {"User-Agent": self._headers["User-Agent"]}
        response = self._connections.stream("GET", url, headers, timeouts=self._timeouts)
        try:
            if response.status != 200:
                raise APIConnectionError(f"The download was refused with status {response.status}.")
            for part in response.parts():
                yield part
        finally:
            response.close()

    def upload_file(
        self, site_id: str, file: str | os.PathLike[str], on_progress: Progress | None = None
    ) -> types.Upload:
        """Upload an archive. The returned upload is the `source` of a build."""
        size = os.stat(file).st_size  # noqa: PTH116 - `pathlib` takes long to import
        upload = self.uploads.create(site_id, size_bytes=size)
        headers = dict(upload.headers)
        headers["Content-Length"] = str(size)
        attempt, may_be_done = 0, False
        while True:
            with open(file, "rb") as opened:  # noqa: ASYNC230, PTH123
                parts = _parts(opened, size, on_progress)
                try:
                    response = self._connections.send(
                        upload.method, upload.url, headers, parts, timeouts=self._timeouts
                    )
                    failure = Failure(response.status)
                except APIConnectionError as error:
                    if attempt >= self.max_retries:
                        raise
                    failure = Failure(was_sent=not isinstance(error, NotSent))
            if 200 <= failure.status < 300 or (failure.status == 412 and may_be_done):
                return upload
            wait = wait_before_retry(failure, attempt, "natural")
            if wait is None or attempt >= self.max_retries:
                raise APIConnectionError(f"The upload was refused with status {failure.status}.")
            may_be_done = may_be_done or failure.may_have_had_effect
            attempt += 1
            sleep(wait)

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, object] | None = None,
        may_lack_body: bool = False,
        idempotent: Idempotent = "natural",
    ) -> Any:
        """The JSON of a response, or None for one without content."""
        sent = None if body is None else given(body)
        if may_lack_body and not sent:
            sent = None
        response = self.request(method, path, query=query, body=sent, idempotent=idempotent)
        if response.status == 204:
            return None
        read = response.json()
        if not isinstance(read, dict):
            raise APIConnectionError("The response is not JSON. Is the address that of the Stead API?")
        return read

    def _limit_to(self, seconds: float) -> None:
        """For a client of `with_options`: each attempt takes at most about so long."""
        connect, read = self._timeouts
        self._timeouts = Timeouts(min(connect, seconds), min(read, seconds))

    def _prepare(self, path: str, query: Mapping[str, object] | None) -> tuple[str, dict[str, str]]:
        headers = dict(self._headers)
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        if not path.startswith("/"):
            # It would become part of the name of the host, and the key would be sent there.
            raise ConfigurationError("A path begins with a slash.")
        sent = [
            (name, _text(each))
            for name, value in given(query or {}).items()
            if value is not None
            for each in (value if isinstance(value, list | tuple) else (value,))
        ]
        url = f"{self.base_url}{path}"
        return (f"{url}?{query_string(sent)}" if sent else url), headers


_DEFAULTS: dict[str, Idempotent] = {"GET": "natural", "PUT": "natural", "DELETE": "key", "POST": "key"}


def _default_of(method: str, path: str) -> Idempotent:
    return "none" if (method, path.partition("?")[0]) in NOT_REPEATABLE else _DEFAULTS.get(method, "none")


def in_path(value: str) -> str:
    """A value as one segment of a path."""
    if value in ("", ".", ".."):
        raise ConfigurationError("An identifier is empty.")
    return percent_encode(value)


def returned(model: Callable[..., M], response: Any) -> M:
    """The object in a response."""
    if response is None or "data" not in response:
        raise APIConnectionError("The response is not complete. Is the address that of the Stead API?")
    return model(response["data"], response.get("request_id"))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _parts(opened: Any, size: int, on_progress: Progress | None) -> Any:
    sent = 0
    while part := opened.read(_PART):
        yield part
        sent += len(part)
        if on_progress is not None:
            on_progress(sent, size)
