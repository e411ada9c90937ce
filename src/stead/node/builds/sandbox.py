"""The sandbox of builds: a container with the build's disk, one way out and the operator's certificates."""

import platform
from dataclasses import dataclass
from pathlib import Path

from stead.node.builds.limits import BuildLimits
from stead.node.builds.workspaces import Workspace
from stead.node.containers.bundle import QUIET_TINI, START_SCRIPT, BindMount, ContainerProcess, configuration
from stead.node.containers.cgroups import LimitEvents
from stead.node.containers.runc import Container, Runc, new_container, open_files_limit
from stead.node.images.recipes import BUILD_UID
from stead.node.processes import Run, Sink

SCRIPTS = Path(__file__).parent / "scripts"
SOURCE = "/work/src"
PROXY = "http://127.0.0.1:3128"
CA_CERTIFICATES = "/run/ca.crt"

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/work/home",
    "USER": "build",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "http_proxy": PROXY,
    "https_proxy": PROXY,
    "HTTP_PROXY": PROXY,
    "HTTPS_PROXY": PROXY,
    "CURL_CA_BUNDLE": CA_CERTIFICATES,
    "GIT_SSL_CAINFO": CA_CERTIFICATES,
    "NODE_EXTRA_CA_CERTS": CA_CERTIFICATES,
    "SSL_CERT_FILE": CA_CERTIFICATES,
}
"""The environment of every program in the sandbox. Builds trust the certificate authorities of the
operator."""


@dataclass(frozen=True)
class ProgramExit:
    code: int
    limit_events: LimitEvents


class Sandbox:
    def __init__(
        self, run: Run, state: Path, image: Path, certificates: Path, limits: BuildLimits, prefix: str
    ) -> None:
        self._runc, self._image, self._certificates = Runc(run, state), image, certificates
        self._limits, self._prefix = limits, prefix
        self._open_files = open_files_limit()

    async def run(self, workspace: Workspace, process: ContainerProcess, sink: Sink) -> ProgramExit:
        container = new_container(self._prefix, workspace.memory)
        try:
            code = await self._runc.run(container, self._configuration(workspace, process, container), sink)
        finally:
            workspace.limit_events = container.limit_events
        return ProgramExit(code, workspace.limit_events)

    def _configuration(
        self, workspace: Workspace, process: ContainerProcess, container: Container
    ) -> dict[str, object]:
        inside = ContainerProcess(
            # tini reaps orphaned processes; when it ends, the kernel ends every process of the container.
            ("/usr/bin/tini", "-g", "--", "/bin/sh", "/run/start.sh", *process.argv),
            {**QUIET_TINI, **process.environment},
            process.directory,
            (
                BindMount(workspace.work, "/work", writable=True),
                BindMount(workspace.egress, "/run/egress.sock", writable=True),
                BindMount(START_SCRIPT, "/run/start.sh"),
                BindMount(self._certificates, CA_CERTIFICATES),
                *process.mounts,
            ),
        )
        return configuration(
            inside,
            root=self._image,
            hostname="build",
            cgroup=container.cgroup,
            first_uid=workspace.first_uid,
            user=BUILD_UID,
            limits=self._limits,
            open_files=self._open_files,
            machine=platform.machine(),
        )
