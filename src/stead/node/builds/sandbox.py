"""Runs a stage in runc: nothing of it runs any more when the call returns, however it returns."""

import platform
import resource
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

import msgspec
import structlog

from stead.node.builds import cgroups
from stead.node.builds.bundle import OPEN_FILES, Bind, Stage, configuration
from stead.node.builds.caps import Caps, SandboxBroken
from stead.node.builds.cgroups import Strain
from stead.node.processes import Run, Sink, Stream
from stead.node.uninterrupted import in_thread, uninterrupted

log = structlog.get_logger()

INSIDE = Path(__file__).parent / "inside"
PROXY = "http://127.0.0.1:3128"
TRUST = "/run/ca.crt"

SURROUNDINGS = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/work/home",
    "USER": "build",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "http_proxy": PROXY,
    "https_proxy": PROXY,
    "HTTP_PROXY": PROXY,
    "HTTPS_PROXY": PROXY,
    "CURL_CA_BUNDLE": TRUST,
    "GIT_SSL_CAINFO": TRUST,
    "NODE_EXTRA_CA_CERTS": TRUST,
    "SSL_CERT_FILE": TRUST,
}
"""What every stage sees. The names of authorities are the host's: whom the operator trusts, builds trust."""


@dataclass(frozen=True)
class Ending:
    code: int
    strain: Strain


@dataclass
class Room:
    """Where one build lies on the host."""

    place: Path
    uid: int
    """The first of its range of users; the builder is `uid + UID`."""
    strain: Strain = field(default_factory=Strain)
    """Of the last stage, also when it was stopped."""

    @property
    def work(self) -> Path:
        """The build's own disk: its root is ours, `src` and `home` are the build's."""
        return self.place / "work"

    @property
    def source(self) -> Path:
        return self.work / "src"

    @property
    def home(self) -> Path:
        return self.work / "home"

    @property
    def cache(self) -> Path:
        """Where the cache of its site is mounted, when it has one."""
        return self.place / "cache"

    @property
    def egress(self) -> Path:
        return self.place / "egress.sock"


class Sandbox:
    def __init__(self, run: Run, state: Path, image: Path, trust: Path, caps: Caps, prefix: str) -> None:
        self._run, self._state, self._image, self._trust = run, state, image, trust
        self._caps, self._prefix = caps, prefix
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._open_files = min(OPEN_FILES, hard)

    async def run(self, room: Room, stage: Stage, sink: Sink) -> Ending:
        name = f"{self._prefix}{token_hex(8)}"
        bundle = room.place / name
        bundle.mkdir(mode=0o700)
        (bundle / "config.json").write_bytes(msgspec.json.encode(self._configuration(room, stage, name)))
        try:
            code = await self._followed(name, bundle, sink)
        finally:
            await uninterrupted(self._ended(room, name))
        if trouble := _trouble(bundle / "log"):
            log.warning("sandbox.broken", reason=trouble)
            raise SandboxBroken(trouble)
        return Ending(code, room.strain)

    def _configuration(self, room: Room, stage: Stage, name: str) -> dict[str, object]:
        inside = Stage(
            # The first process gathers what others leave behind; with it everything ends.
            ("/usr/bin/tini", "-g", "--", "/bin/sh", "/run/stage.sh", *stage.argv),
            stage.environment,
            stage.directory,
            (
                Bind(room.work, "/work", writable=True),
                Bind(room.egress, "/run/egress.sock", writable=True),
                Bind(INSIDE / "stage.sh", "/run/stage.sh"),
                Bind(self._trust, TRUST),
                *stage.binds,
            ),
        )
        return configuration(
            inside,
            root=self._image,
            cgroup=f"/{name}",
            uid=room.uid,
            caps=self._caps,
            open_files=self._open_files,
            machine=platform.machine(),
        )

    async def _followed(self, name: str, bundle: Path, sink: Sink) -> int:
        return await self._run(
            [
                *self._runc("--log", str(bundle / "log"), "--log-format", "json"),
                *("run", "--keep", "--bundle", str(bundle), name),
            ],
            sink,
        )

    async def _ended(self, room: Room, name: str) -> None:
        room.strain = cgroups.strain(f"/{name}")
        # It kills the first process, and the kernel all others of its namespace; whoever is somehow left is
        # found in the group.
        await self._run(self._runc("delete", "--force", name), _unheard)
        await in_thread(cgroups.end, f"/{name}")

    def _runc(self, *words: str) -> list[str]:
        return ["runc", "--root", str(self._state), *words]


class _LogLine(msgspec.Struct):
    level: str = ""
    msg: str = ""


def _trouble(said: Path) -> str:
    """What kept runc itself from its work; empty when nothing did."""
    try:
        lines = said.read_bytes().splitlines()
    except FileNotFoundError:
        return ""
    read = (msgspec.json.decode(line, type=_LogLine) for line in lines)
    return next((line.msg[:500] for line in read if line.level in ("error", "fatal")), "")


async def _unheard(_: Stream, __: bytes) -> None:
    return
