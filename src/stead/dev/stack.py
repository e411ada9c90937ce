"""All engines of one data directory: where they listen, and what our programs must be told to find them."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from stead.dev import secrets as secrets_file
from stead.dev.directory import DataDirectory
from stead.dev.engine import LOOPBACK, DevError, Engine, Place, Ports
from stead.dev.images import Prepare, build_environment
from stead.dev.nats import Nats
from stead.dev.nginx import Nginx
from stead.dev.pebble import Challtestsrv, Pebble
from stead.dev.postgres import Postgres
from stead.dev.programs import Api, NodeAgent, Worker
from stead.dev.redis import Redis
from stead.dev.seaweedfs import SeaweedFS
from stead.dev.secrets import FirstAccount, Secrets
from stead.dev.temporal import Temporal
from stead.protocol.subjects import COMMANDS, Node, Program, inbox_prefix, user
from stead.shared.edge_keys import key_from_text, key_to_text, region_key

ENGINES: tuple[type[Engine], ...] = (Postgres, Redis, Nats, Temporal, SeaweedFS)
EVERY: tuple[type[Engine], ...] = (*ENGINES, Nginx, Challtestsrv, Pebble)
"""With the edge, which only a node needs, and with a certificate authority and a DNS for it to ask."""
PROGRAMS: tuple[type[Engine], ...] = (Api, Worker, NodeAgent)
PORTS: tuple[Ports, ...] = (*(kind.ports for kind in EVERY), *(kind.ports for kind in PROGRAMS))

NODE, REGION = "node-dev", "us-east"

E = TypeVar("E", bound=Engine)


async def _nothing() -> None:
    return


@dataclass(frozen=True)
class NatsLogin:
    url: str
    user: str
    password: str
    inbox_prefix: str


class Stack:
    """An engine that was not asked for has its port and its settings too: it is merely down."""

    def __init__(
        self,
        directory: DataDirectory,
        ports: Mapping[str, int],
        secrets: Secrets,
        *,
        durable: bool,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.directory, self.ports, self.secrets = directory, ports, secrets
        self._durable = durable
        self._settings = settings or {}
        """Of our programs, besides and before those that follow from the stack."""
        self.before_node: Prepare = _nothing
        """What the node on this machine waits for."""
        self._engines: dict[type[Engine], Engine] = {kind: kind(self._place(kind)) for kind in ENGINES}
        self._engines[Nginx] = Nginx(self._place(Nginx), NODE, self.node_data)
        self._engines[Challtestsrv] = Challtestsrv(self._place(Challtestsrv))
        self._engines[Pebble] = Pebble(
            self._place(Pebble), http_port=self.nginx.port, resolver=self[Challtestsrv].address
        )
        self.api = Api(self._place(Api), self.environment(Program.API), self._keep_account)
        self._engines[Api] = self.api
        self._engines[Worker] = Worker(
            self._place(Worker),
            self.environment(Program.WORKER) | self.certificate_environment(),
            lambda: self.nats.has_stream(COMMANDS),
        )
        self._engines[NodeAgent] = NodeAgent(
            self._place(NodeAgent), self._admit_node, lambda: self.nats.beats(Node(NODE))
        )

    @classmethod
    def attach(cls, data: Path) -> "Stack":
        """A stack that another process runs. Its engines can be used here, not started or stopped."""
        directory = DataDirectory(data)
        record = directory.record()
        if not record.alive():
            raise DevError(f"no stack is running from {directory.path}")
        return cls(directory, record.ports, secrets_file.load(directory.secrets), durable=True)

    def __getitem__(self, kind: type[E]) -> E:
        engine = self._engines[kind]
        assert isinstance(engine, kind)  # noqa: S101
        return engine

    @property
    def postgres(self) -> Postgres:
        return self[Postgres]

    @property
    def redis(self) -> Redis:
        return self[Redis]

    @property
    def nats(self) -> Nats:
        return self[Nats]

    @property
    def temporal(self) -> Temporal:
        return self[Temporal]

    @property
    def seaweedfs(self) -> SeaweedFS:
        return self[SeaweedFS]

    @property
    def nginx(self) -> Nginx:
        return self[Nginx]

    @property
    def pebble(self) -> Pebble:
        return self[Pebble]

    @property
    def dns(self) -> Challtestsrv:
        return self[Challtestsrv]

    @property
    def node_data(self) -> Path:
        """Of the node on this machine, whose releases nginx serves."""
        return self.directory.home(NodeAgent.name)

    def environment(self, program: Program = Program.API) -> dict[str, str]:
        """The settings of one of our programs; each has its own NATS user."""
        login = self.nats_login(program)
        return {
            "STEAD_DATABASE_URL": self.postgres.url,
            "STEAD_REDIS_URL": self.redis.url,
            "STEAD_NATS_URL": login.url,
            "STEAD_NATS_USER": login.user,
            "STEAD_NATS_PASSWORD": login.password,
            "STEAD_TEMPORAL_ADDRESS": self.temporal.address,
            "STEAD_S3_ENDPOINT": self.seaweedfs.endpoint,
            "STEAD_S3_ACCESS_KEY": self.secrets.s3_access_key,
            "STEAD_S3_SECRET_KEY": self.secrets.s3_secret_key,
            "STEAD_SEALING_KEY": self.secrets.sealing_key,
            "STEAD_EDGE_MASTER_KEY": self.secrets.edge_master_key,
            "STEAD_API_HOST": LOOPBACK,
            "STEAD_API_PORT": str(self.ports["api"]),
            "STEAD_METRICS_PORT": str(self.ports["api_metrics"]),
            "STEAD_BASE_URL": f"http://{LOOPBACK}:{self.ports['api']}",
            **self._settings,
        }

    def certificate_environment(self) -> dict[str, str]:
        """What a worker needs besides, to get certificates from the authority on this machine."""
        return {
            "STEAD_ACME_DIRECTORY": self.pebble.directory,
            "STEAD_ACME_EMAIL": "you@stead.example",
            "STEAD_ACME_CA_FILE": str(self.pebble.trust),
            "STEAD_EDGE_ADDRESSES": LOOPBACK,
            "STEAD_DNS_RESOLVER": self.dns.address,
        }

    def node_environment(self, node: str, data: Path, region: str = REGION) -> dict[str, str]:
        """The settings of a node that has been added: its own login, and nothing of the control plane's."""
        login = self.nats_login(Node(node))
        key = region_key(key_from_text(self.secrets.edge_master_key), region)
        return {
            "STEAD_NODE_ID": node,
            "STEAD_NODE_DATA": str(data),
            "STEAD_NATS_URL": login.url,
            "STEAD_NATS_USER": login.user,
            "STEAD_NATS_PASSWORD": login.password,
            "STEAD_NODE_REGION": region,
            "STEAD_EDGE_ADDRESS": self.nginx.address,
            "STEAD_EDGE_KEY": key_to_text(key),
            **self._settings,
        }

    async def _admit_node(self) -> dict[str, str]:
        await self.add_node(NODE)
        await self.before_node()
        return self.node_environment(NODE, self.node_data) | await build_environment()

    def nats_login(self, role: Program | Node) -> NatsLogin:
        name = user(role)
        return NatsLogin(self.nats.url, name, self.secrets.nats[name], inbox_prefix(role))

    async def add_node(self, node: str) -> NatsLogin:
        """Gives a node its NATS user while the server runs; harmless to repeat."""
        role = Node(node)
        with secrets_file.edited(self.directory.secrets) as kept:
            kept.nats_password(user(role))
            self.secrets.nats.update(kept.nats)
            self.nats.write_config()
        running = {child.name: child.process for child in self.directory.record().children}
        server = running.get(Nats.name)
        if server is None or not server.send(signal.SIGHUP):
            raise DevError("NATS is not running, so no node can be added to it")
        await self.nats.wait_for(role)
        return self.nats_login(role)

    def _place(self, kind: type[Engine]) -> Place:
        ports = {name: self.ports[name] for name in kind.ports.names}
        return Place(self.directory.home(kind.name), ports, self.secrets, self._durable)

    def _keep_account(self, account: FirstAccount) -> None:
        with secrets_file.edited(self.directory.secrets) as kept:
            kept.account = self.secrets.account = account
