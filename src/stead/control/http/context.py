"""What a handler can reach besides its transaction: what changes while somebody watches, and who we are."""

from dataclasses import dataclass

from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.http.principal import Network
from stead.control.jobs.definition import WorkflowCatalog
from stead.control.jobs.output import JobOutput
from stead.control.outbox.event_types import EventCatalog


@dataclass(frozen=True, slots=True)
class ApiContext:
    database: Database
    listener: PostgresListener
    output: JobOutput
    workflows: WorkflowCatalog
    event_catalog: EventCatalog
    docs_url: str
    preview_domain: str
    objects: ObjectStore
    """To sign addresses with; what lies there is the worker's business."""
    base_url: str = ""
    """Where this installation is reached."""
    webhook_networks: tuple[Network, ...] = ()
    """The operator's own, which webhooks may reach although they are not public."""
