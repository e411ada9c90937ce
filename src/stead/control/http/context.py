"""Services and settings that every handler can use besides its transaction."""

from dataclasses import dataclass

from stead.control.engines.clickhouse import ClickHouse
from stead.control.engines.nats_questions import Questions
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
    clickhouse: ClickHouse
    """Only for `control/insights/queries.py`."""
    questions: Questions
    """Asks sites, through their nodes."""
    serves_dns: bool = False
    """Whether the installation has a name server of its own."""
    nameservers: tuple[str, ...] = ()
    """Those to which customers delegate their domains."""
    own_names: frozenset[str] = frozenset()
    """Names of the platform, which no site may have."""
    verify_domains: bool = True
    """Whether a domain must be proved before it is served."""
    base_url: str = ""
    """The public URL of this installation."""
    ssh_host: str = "{node}.ssh.stead.example"
    """Where customers reach the SSH server of a node."""
    ssh_port: int = 2222
    verifies_email: bool = True
    """Whether people must confirm their email address."""
    webhook_networks: tuple[Network, ...] = ()
    """Private networks of the operator that webhooks may reach."""
    git_ports: frozenset[int] = frozenset()
    """Ports that repositories may use besides 443 and 22."""
    git_networks: tuple[Network, ...] = ()
    """Private networks of the operator that repositories may be in."""
