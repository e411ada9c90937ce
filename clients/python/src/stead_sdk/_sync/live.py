# Generated from `_async/live.py` by `make generate`.
"""What is new, as a stream that goes on until the caller stops."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from stead_sdk._events import EventParser
from stead_sdk._model import Model
from stead_sdk._sync.events import Events
from stead_sdk._sync.jobs import Reconnects
from stead_sdk.errors import APIConnectionError, APIError

if TYPE_CHECKING:
    from stead_sdk._sync.client import Stead

T = TypeVar("T", bound=Model)

_NOTICES = ("truncated", "error")


class LiveEvent(NamedTuple, Generic[T]):
    """`kind` is `truncated` if more arrived than is shown, `error` if the server could not look, and
    `reconnected` after a broken connection; everything else has an `item`."""

    kind: str
    item: T | None
    data: Mapping[str, Any]


def follow_live(
    client: "Stead", path: str, query: Mapping[str, object], model: Callable[[Mapping[str, Any]], T]
) -> Iterator[LiveEvent[T]]:
    reconnects, is_first = Reconnects(), True
    while True:
        failure: Exception | None = None
        events: Events | None = None
        try:
            events = client.open_events(path, EventParser(), query)
            if not is_first:
                yield LiveEvent("reconnected", None, {})
            is_first = False
            for event in events:
                reconnects.worked()
                data = json.loads(event.data)
                yield LiveEvent(event.event, None if event.event in _NOTICES else model(data), data)
        except (APIConnectionError, APIError) as error:
            if is_first and isinstance(error, APIError):
                raise
            failure = error
        finally:
            if events is not None:
                events.close()
        reconnects.wait(failure, events)
