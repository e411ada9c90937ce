"""Server-sent events: a parser without I/O."""

from typing import NamedTuple


class ServerSentEvent(NamedTuple):
    event: str
    data: str
    id: str


class EventParser:
    """Feed it lines. A line that ends an event returns it."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self._event = ""
        self._data: list[str] = []

    def feed(self, raw: bytes) -> ServerSentEvent | None:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            return self._end()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self.last_id = value
        return None

    def _end(self) -> ServerSentEvent | None:
        event, data = self._event or "message", self._data
        self._event, self._data = "", []
        return ServerSentEvent(event, "\n".join(data), self.last_id) if data else None
