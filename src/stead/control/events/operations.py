"""HTTP operations on events."""

from stead.control.events import service
from stead.control.events.schema import EventFilter, EventView
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest

operation = Operations(tag="Events")


@operation("GET /v1/events", id="events.list", scope="events:read")
async def list_events(call: Call, query: EventFilter, page: PageRequest) -> Page[EventView]:
    """List the events of the last 30 days that you can see, newest first.

    Events are in commit order. A new event never appears below one that you have already read. To poll, read
    from the top until you reach the newest event of the previous poll.
    """
    return await service.browse(call.tx, call.caller, query, page)
