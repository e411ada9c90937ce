"""What can go wrong with scheduled events. No I/O."""

from contextlib import suppress
from datetime import UTC, datetime

from stead.shared.errors import FieldInvalid, NotFound
from stead.shared.ids import has_shape


class CronNotFound(NotFound):
    code = "cron.not_found"
    message = "The scheduled event was not found."
    remedy = "List the events of the site with `GET …/cron`. An event that runs once is removed when it runs."


def require_cron_id(id_: str) -> str:
    if not has_shape("cron", id_):
        raise CronNotFound
    return id_


def parse_schedule(text: str) -> tuple[str | None, int | None]:
    """A recurrence, or the time of an event that runs once, in seconds since 1970."""
    if not text[:1].isdigit():
        return text, None
    moment: datetime | None = None
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
    if moment is None or moment.tzinfo is None or not 1 <= moment.timestamp() < 2**32:
        raise FieldInvalid(
            param="schedule",
            reason="`schedule` must be the name of a recurrence, such as daily, or a time with its zone,"
            " such as 2027-01-15T09:30:00Z.",
        )
    return None, int(moment.timestamp())


def show_schedule(recurrence: str | None, time: int) -> str:
    return recurrence or datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")
