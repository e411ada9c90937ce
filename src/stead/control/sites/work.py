"""What the jobs of a site carry with them."""

from datetime import datetime

from msgspec import Struct

from stead.control.sites.rules import SiteStatus


class SiteWork(Struct, frozen=True):
    """`status_before` and `recoverable_until` are what a failed deletion or recovery goes back to."""

    status_before: SiteStatus = "running"
    recoverable_until: datetime | None = None
