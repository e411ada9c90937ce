"""The engines and programs of one data directory, and the settings with which programs use the engines."""

import base64
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from stead.dev import secrets as secrets_file
from stead.dev.build_image import PrepareNode, build_settings
from stead.dev.data_directory import DataDirectory
from stead.dev.engine import Engine
from stead.dev.engines import CORE_ENGINES, ENGINES
from stead.dev.engines.nats import Nats, NatsLogin
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.errors import DevError
from stead.dev.local_node import LOCAL_NODE, LOCAL_REGION, node_home
from stead.dev.programs import (
    ACCESS_PROGRAMS,
    STEAD_PROGRAMS,
    Api,
    FunctionsHost,
    NodeAgent,
    Repositories,
    SshGateway,
    Worker,
    steadctl,
)
from stead.dev.secrets import FirstAccount, Secrets, random_key
from stead.dev.supervised_program import LOOPBACK, Instance, SupervisedProgram
from stead.protocol.sealed_work import key_from_text as key_from_node_text
from stead.protocol.sealed_work import public_key_of
from stead.protocol.streams import stream_specs
from stead.protocol.subjects import Node, Program, user
from stead.shared.edge_keys import key_from_text, key_to_text, region_key

ALL_PROGRAMS: tuple[type[SupervisedProgram], ...] = (*ENGINES, *STEAD_PROGRAMS, *ACCESS_PROGRAMS)

NODE_KEYS = "node_keys"
"""The name of the nodes' private keys among the secrets."""
ANY_CAPACITY = 100_000
"""Then only the setting of the node limits how many environments it gets."""

_SECOND_STORE = "STEAD_OFFSITE_S3_"

P = TypeVar("P", bound=SupervisedProgram)


async def _do_nothing() -> None:
    return


class Stack:
    """Contains all engines and programs, also those that were not chosen to run: they have ports and settings
    too, and appear to be down."""

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
        self._overrides = settings or {}
        """Settings of Stead's programs that take precedence over those of the stack."""
        self.prepare_node: PrepareNode = _do_nothing
        """Awaited before the node on this machine starts."""
        self._programs: dict[type[SupervisedProgram], SupervisedProgram] = {
            engine: engine(self._instance(engine), self) for engine in ENGINES
        }
        self.api = Api(self._instance(Api), self.environment(Program.API, ENGINES), self._save_account)
        self._programs[Api] = self.api
        self._programs[Worker] = Worker(
            self._instance(Worker),
            self.environment(Program.WORKER, ENGINES)
            | {"STEAD_WORKER_PORT": str(self.ports["worker_health"])},
            lambda: self[Nats].has_stream(stream_specs()[-1].name),
        )
        self._programs[Repositories] = Repositories(
            self._instance(Repositories),
            self[SeaweedFS].control_settings(Program.WORKER)
            | {
                "STEAD_REPOSITORY_KEY": self.secrets["repository_key"],
                "STEAD_REPOSITORIES_HOST": LOOPBACK,
                "STEAD_REPOSITORIES_PORT": str(self.ports["repositories"]),
                "STEAD_REPOSITORIES_METRICS_PORT": str(self.ports["repositories_metrics"]),
            }
            | self._overrides_outside_control_plane(),
        )
        self._programs[NodeAgent] = NodeAgent(
            self._instance(NodeAgent),
            self._add_local_node,
            lambda: self[Nats].receives_heartbeat(Node(LOCAL_NODE)),
        )
        self._programs[FunctionsHost] = FunctionsHost(
            self._instance(FunctionsHost), self._local_node_settings, self.node_data
        )
        self._programs[SshGateway] = SshGateway(
            self._instance(SshGateway),
            {
                "STEAD_NODE_DATA": str(self.node_data),
                "STEAD_SSH_HOST": LOOPBACK,
                "STEAD_SSH_PORT": str(self.ports["ssh"]),
            },
        )

    @classmethod
    def attach(cls, data: Path) -> "Stack":
        """Returns the stack of another process. Its engines can be used, but not started or stopped."""
        directory = DataDirectory(data)
        record = directory.load_record()
        if not record.is_running():
            raise DevError(f"no stack is running from {directory.path}")
        return cls(directory, record.ports, secrets_file.load(directory.secrets), durable=True)

    def __getitem__(self, kind: type[P]) -> P:
        program = self._programs[kind]
        assert isinstance(program, kind)  # noqa: S101
        return program

    @property
    def node_data(self) -> Path:
        """The data directory of the node on this machine."""
        return node_home(self.directory.path)

    def environment(
        self, program: Program = Program.API, engines: Iterable[type[Engine]] = CORE_ENGINES
    ) -> dict[str, str]:
        """The settings with which a program of the control plane uses these engines."""
        settings = {
            "STEAD_SEALING_KEY": self.secrets["sealing_key"],
            "STEAD_EDGE_MASTER_KEY": self.secrets["edge_master_key"],
            "STEAD_API_HOST": LOOPBACK,
            "STEAD_API_PORT": str(self.ports["api"]),
            "STEAD_METRICS_PORT": str(self.ports["api_metrics"]),
            "STEAD_BASE_URL": f"http://{LOOPBACK}:{self.ports['api']}",
            "STEAD_REPOSITORY_KEY": self.secrets["repository_key"],
            "STEAD_REPOSITORIES_URL": f"http://{LOOPBACK}:{self.ports['repositories']}",
            # The gateway of the node on this machine.
            "STEAD_SSH_PUBLIC_HOST": LOOPBACK,
            "STEAD_SSH_PUBLIC_PORT": str(self.ports["ssh"]),
            # There is no mail server.
            "STEAD_EMAIL_VERIFICATION": "false",
            # Made-up domains work at once; every account of a development stack is trusted.
            "STEAD_DOMAIN_VERIFICATION": "none",
        }
        for engine in engines:
            settings |= self[engine].control_settings(program)
        return settings | dict(self._overrides)

    def node_environment(self, node: str, data: Path, region: str = LOCAL_REGION) -> dict[str, str]:
        """The settings of a node that was added with `add_node`. They contain no secrets of the control
        plane."""
        key = region_key(key_from_text(self.secrets["edge_master_key"]), region)
        settings = {
            "STEAD_NODE_ID": node,
            # Nothing of a development stack goes on when it has stopped.
            "STEAD_KEEP_SITES_RUNNING": "false",
            # The first WordPress site makes the images that it needs.
            "STEAD_IMAGES_ON_DEMAND": "true",
            "STEAD_NODE_DATA": str(data),
            "STEAD_NODE_REGION": region,
            "STEAD_NODE_KEY": self.secrets.passwords(NODE_KEYS)[node],
            "STEAD_EDGE_KEY": key_to_text(key),
        }
        for engine in ENGINES:
            settings |= self[engine].node_settings(Node(node))
        return settings | self._overrides_outside_control_plane()

    def _overrides_outside_control_plane(self) -> dict[str, str]:
        """Only the control plane can reach the second object store."""
        return {name: value for name, value in self._overrides.items() if not name.startswith(_SECOND_STORE)}

    def shell_variables(self) -> dict[str, str]:
        """The variables that `steadctl dev env` prints: those of the programs, then those of the engines."""
        variables: dict[str, str] = {}
        for kind in (*STEAD_PROGRAMS, *ENGINES):
            variables |= self._programs[kind].shell_variables()
        return variables

    async def _add_local_node(self) -> dict[str, str]:
        await self.add_node(LOCAL_NODE)
        if any(child.name == Api.name for child in self.directory.load_record().children):
            await self.enrol_node(LOCAL_NODE)
        await self.prepare_node()
        health = {"STEAD_NODE_HEALTH_PORT": str(self.ports["node_health"])}
        return await self._local_node_settings() | health

    async def _local_node_settings(self) -> dict[str, str]:
        return await build_settings() | self.node_environment(LOCAL_NODE, self.node_data)

    async def add_node(self, node: str) -> NatsLogin:
        """Creates the key and the NATS user of a node while the server runs. Can be repeated."""
        role, nats = Node(node), self[Nats]
        with secrets_file.edit(self.directory.secrets) as saved:
            saved.ensure_password(Nats.name, user(role))
            saved.passwords(NODE_KEYS).setdefault(node, random_key())
            self.secrets.passwords(NODE_KEYS).update(saved.passwords(NODE_KEYS))
            nats.passwords.update(saved.passwords(Nats.name))
            nats.write_config()
        processes = {child.name: child.process for child in self.directory.load_record().children}
        server = processes.get(Nats.name)
        if server is None or not server.send_signal(signal.SIGHUP):
            raise DevError("NATS is not running, so no node can be added")
        await nats.wait_for_login(role)
        return nats.login(role)

    async def enrol_node(
        self, node: str, region: str = LOCAL_REGION, *, builds: bool = True, capacity: int = ANY_CAPACITY
    ) -> None:
        """Enrols a node that was added with `add_node`. Needs a migrated database. Can be repeated."""
        private = key_from_node_text(self.secrets.passwords(NODE_KEYS)[node])
        public = base64.b64encode(public_key_of(private)).decode()
        permission = "--builds" if builds else "--no-builds"
        await steadctl(
            self.environment(Program.WORKER),
            *("nodes", "add", node, "--region", region, "--key", public, permission),
            *("--capacity", str(capacity)),
        )

    def _instance(self, kind: type[SupervisedProgram]) -> Instance:
        return Instance(
            data=self.directory.path,
            home=self.directory.home(kind.name),
            ports={name: self.ports[name] for name in kind.ports.names},
            secrets=self.secrets,
            durable=self._durable,
        )

    def _save_account(self, account: FirstAccount) -> None:
        with secrets_file.edit(self.directory.secrets) as saved:
            saved.account = self.secrets.account = account
