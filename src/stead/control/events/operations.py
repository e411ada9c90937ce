"""HTTP operations on events."""

from stead.control.events import service
from stead.control.events.schema import EventFilter, EventView
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest

operation = Operations(tag="Events")


@operation("GET /v1/events", id="events.list", scope="events:read")
async def list_events(call: Call, query: EventFilter, page: PageRequest) -> Page[EventView]:
    """List what happened to what you can see in the last 30 days, newest first.

    Events are in the order in which they became true. None ever appears below one that you have already
    seen, so whoever polls reads from the top down to the newest event of the time before.
    """
    return await service.browse(call.tx, call.caller, query, page)
