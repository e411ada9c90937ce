"""What a handler can reach besides its transaction: what changes while somebody watches, and who we are."""

from dataclasses import dataclass

from stead.control.platform.database import Database
from stead.control.platform.job_output import JobOutput
from stead.control.platform.notices import Notices
from stead.control.platform.objects import Objects
from stead.control.platform.principal import Network


@dataclass(frozen=True, slots=True)
class Live:
    database: Database
    notices: Notices
    output: JobOutput
    docs_url: str
    preview_domain: str
    objects: Objects
    """To sign addresses with; what lies there is the worker's business."""
    base_url: str = ""
    """Where this installation is reached."""
    webhook_networks: tuple[Network, ...] = ()
    """The operator's own, which webhooks may reach although they are not public."""
