"""What an answer says about data that was lost."""

from datetime import datetime

from msgspec import Struct


class GapView(Struct):
    """Requests of this time were lost, because the node could not send them for too long."""

    start: datetime
    end: datetime
