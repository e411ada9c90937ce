"""What an environment is. No I/O."""

from dataclasses import dataclass
from datetime import datetime

from stead.shared.ids import EnvironmentId, SiteId


@dataclass(frozen=True, slots=True)
class Environment:
    id: EnvironmentId
    site_id: SiteId
    type: str
    subdomain: str
    status: str
    node_id: str | None
    created_at: datetime
