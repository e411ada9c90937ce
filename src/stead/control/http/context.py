"""Services and settings that every handler can use besides its transaction."""

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
    """Only for signing URLs. Objects are read and written by the worker."""
    base_url: str = ""
    """The public URL of this installation."""
    webhook_networks: tuple[Network, ...] = ()
    """Private networks of the operator that webhooks may reach."""
