"""The list of engines. An engine is added by writing its module and naming it here."""

from stead.dev.engine import Engine
from stead.dev.engines.clickhouse import ClickHouse
from stead.dev.engines.dns import LoopbackDns
from stead.dev.engines.mariadb import MariaDb
from stead.dev.engines.nats import Nats
from stead.dev.engines.nginx import Nginx
from stead.dev.engines.pebble import Pebble
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.powerdns import PowerDns
from stead.dev.engines.redis import Redis
from stead.dev.engines.resolver import Resolver
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.engines.temporal import Temporal

ENGINES: tuple[type[Engine], ...] = (
    Postgres,
    Redis,
    Nats,
    Temporal,
    SeaweedFS,
    ClickHouse,
    Nginx,
    MariaDb,
    LoopbackDns,
    Resolver,
    Pebble,
    PowerDns,
)

CORE_ENGINES: tuple[type[Engine], ...] = tuple(engine for engine in ENGINES if engine.core)
