"""The container of a WordPress environment, described for the host: its image, mounts, limits and secrets."""

import platform
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec

from stead.mariadb.data_directory import ServerUnavailable
from stead.node.containers.bundle import QUIET_TINI, START_SCRIPT, BindMount, ContainerProcess, configuration
from stead.node.containers.limits import ContainerFailed, first_uid
from stead.node.containers.runc import open_files_limit
from stead.node.containers.services import ServiceContainer
from stead.node.drivers.layout import write_file
from stead.node.hosting.desired_state import DesiredEnvironment
from stead.node.hosting.wake_budget import RETRY_AFTER_SECONDS, Needs
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.compiled_core import INSIDE as COMPILED
from stead.node.wordpress.compiled_core import compiled_path, file_cache_options, mount_compiled
from stead.node.wordpress.configuration_files import (
    LISTEN,
    TEMPLATES,
    fpm_configuration,
    release_settings,
    wp_config,
)
from stead.node.wordpress.fastcgi import fastcgi_response
from stead.node.wordpress.paths import CORE, EnvironmentPaths
from stead.node.wordpress.release_layout import UPLOADS, read_layout
from stead.node.wordpress.spec import WordPressSecrets, WordPressSpec

USER = 33
"""www-data in the images of PHP."""
WEB_ROOT = "/srv/site"
RELEASE = "/run/release"
"""Where a release is as a whole. Its `wp-content` is also in the web root."""
QUIET_PROCESSES = 3
"""tini, socat and the master process of PHP-FPM."""
MEMORY_OVERCOMMIT, LEAST_MEMORY_MB = 4, 32
"""An environment that is awake counts with a quarter of its limit: few use all of it at the same time."""
SPARE_CONNECTIONS = 6
"""To the database, besides one for each worker."""
BUSY = fastcgi_response(
    f"Status: 503 Service Unavailable\r\nRetry-After: {RETRY_AFTER_SECONDS}\r\nCache-Control: no-store\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n\r\n"
    "This server is busy. Please try again in a moment.\n"
)
DATABASE_SOCKETS = "/run/mysqld"
PROXY = "http://127.0.0.1:3128"
_OPCACHE = {
    "memory_consumption": 96,
    "interned_strings_buffer": 16,
    "max_accelerated_files": 16229,
    "revalidate_freq": 2,
    "jit": 0,
}


def connection_limit(spec: WordPressSpec) -> int:
    """How many connections to the database an environment may have, signed in or not."""
    return spec.settings.workers + SPARE_CONNECTIONS


WordPress = DesiredEnvironment[WordPressSpec, WordPressSecrets]


@dataclass(frozen=True)
class WordPressPlan:
    """`image` and `core` are the root file systems of PHP and of WordPress."""

    desired: WordPress
    paths: EnvironmentPaths
    image: Path
    core: Path
    database: str
    """The name of its schema and of the user of the schema."""
    database_socket: Path
    """Of MariaDB."""
    limited_socket: Path | None = None
    """Leads to MariaDB with a limit of connections, for the container. Without it the container uses that of
    MariaDB."""
    release: Path | None = None
    """The code of a git-managed site; None before its first deployment, and for other sites."""
    part: str = ""
    """The name of a directory for the files of this plan, if it is not the plan of the environment itself."""
    sockets: Path | None = None
    """The sockets that the container can use, if not those of the environment. Without a proxy among them it
    has no network."""
    wait_for_database: Callable[[], Awaitable[None]] | None = field(default=None, compare=False, repr=False)
    """A node that has booted can wake a site before MariaDB runs."""

    quiet_processes = QUIET_PROCESSES

    @property
    def container(self) -> ServiceContainer:
        return self.paths.container

    @property
    def socket(self) -> Path:
        return self.paths.socket

    @property
    def owner(self) -> int:
        """The user of the host that PHP runs as."""
        return first_uid(self.desired.slot) + USER

    @property
    def tenant(self) -> str:
        return self.desired.spec.settings.tenant

    @property
    def needs(self) -> Needs:
        wanted = self.desired.spec.settings
        memory_mb = max(wanted.memory_mb // MEMORY_OVERCOMMIT, LEAST_MEMORY_MB)
        return Needs(memory_mb, connection_limit(self.desired.spec))

    @property
    def busy_response(self) -> bytes:
        return BUSY

    @property
    def memory(self) -> Path:
        return self.paths.memory / self.part if self.part else self.paths.memory

    @property
    def workers(self) -> int:
        return self.desired.spec.settings.workers

    async def prepare(self) -> Mapping[str, object]:
        if self.wait_for_database is not None:
            try:
                await self.wait_for_database()
            except ServerUnavailable as unavailable:
                raise ContainerFailed(str(unavailable)) from None
        await run_in_thread(self._write_files)
        compiled = mount_compiled(compiled_path(self.image, self.core))
        settings = {**_OPCACHE, **file_cache_options(compiled)}
        options = [word for name, value in settings.items() for word in ("-d", f"opcache.{name}={value}")]
        fpm = ("/usr/local/sbin/php-fpm", "--nodaemonize", "--fpm-config", "/run/stead/fpm.conf", *options)
        annotations = {"stead.specification": self._digest()}
        configured = self.configure(fpm, {"FPM_SOCKETS": f"{LISTEN}=3"}, *compiled)
        return {**configured, "annotations": annotations}

    def _digest(self) -> str:
        """Of what the container is started for. A new version of the agent is no reason to replace it."""
        spec = msgspec.to_builtins(msgspec.structs.replace(self.desired.spec, state="installed"))
        current = spec.pop("datasets")["current"]
        for name in ("previous_php", "previous_php_image", "php_unconfirmed"):
            del spec[name]
        more: tuple[str, ...] = (current,) if current else ()
        if (schema := self.desired.spec.datasets.schema) != current:
            more = (current, schema)
        return sha256(msgspec.msgpack.encode((spec, self.desired.secrets, *more))).hexdigest()

    def configure(
        self,
        argv: tuple[str, ...],
        environment: Mapping[str, str],
        *mounts: BindMount,
        cgroup: str = "",
        directory: str = "/",
    ) -> Mapping[str, object]:
        """The configuration of a container that sees the site as PHP does."""
        process = ContainerProcess(
            # tini reaps orphaned processes; when it ends, the kernel ends every process of the container.
            ("/usr/bin/tini", "-g", "--", "/bin/sh", "/run/start.sh", *argv),
            {
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "HOME": "/nonexistent",
                "LANG": "C.UTF-8",
                "TZ": "UTC",
                "EGRESS_SOCKET": "/run/platform/egress.sock",
                **dict.fromkeys(("http_proxy", "https_proxy", "HTTPS_PROXY"), PROXY),
                **QUIET_TINI,
                **environment,
            },
            directory,
            (
                BindMount(self.core / CORE, WEB_ROOT, executable=False),
                *self._content_mounts(),
                BindMount(self.memory / "wp-config.php", "/etc/stead/wp-config.php"),
                BindMount(self.memory / "fpm.conf", "/run/stead/fpm.conf"),
                BindMount(TEMPLATES / "prepend.php", "/run/stead/prepend.php"),
                BindMount(TEMPLATES / "platform", "/run/stead/platform"),
                BindMount(self.sockets or self.paths.inside, "/run/platform"),
                # The directory, because a new server makes a new socket.
                BindMount(self.socket_inside.parent, DATABASE_SOCKETS),
                BindMount(START_SCRIPT, "/run/start.sh"),
                *mounts,
            ),
            memory=("/etc/stead",),
            writable_memory=(COMPILED,),
        )
        return configuration(
            process,
            root=self.image,
            hostname="site",
            cgroup=cgroup or self.container.cgroup,
            first_uid=first_uid(self.desired.slot),
            user=USER,
            limits=self.desired.spec.limits,
            open_files=open_files_limit(),
            machine=platform.machine(),
        )

    @property
    def socket_inside(self) -> Path:
        """Where everything of the environment connects to the database."""
        return self.limited_socket or self.database_socket

    def _content_mounts(self) -> list[BindMount]:
        inside = f"{WEB_ROOT}/wp-content"
        if not self.desired.spec.settings.git_managed:
            return [BindMount(self.paths.content, inside, writable=True, executable=False)]
        uploads = [f"{inside}/{UPLOADS}"]
        mounts = [BindMount(self.paths.content, inside, executable=False)]
        if self.release is not None:
            content = read_layout(self.release).content
            mounts = [
                BindMount(self.release / content, inside, executable=False),
                BindMount(self.release, RELEASE, executable=False),
            ]
            uploads.append(f"{RELEASE}/{content}/{UPLOADS}")
        writable = [
            BindMount(self.paths.uploads, place, writable=True, executable=False) for place in uploads
        ]
        return [*mounts, *writable]

    def write_secret(self, name: str, content: bytes) -> Path:
        """A file in memory that only the site can read."""
        path = self.memory / name
        write_file(path, content, mode=0o400, owner=self.owner)
        return path

    def _wp_config(self) -> bytes:
        socket = f"{DATABASE_SOCKETS}/{self.socket_inside.name}"
        spec, code = self.desired.spec, ""
        if spec.settings.git_managed:
            code = release_settings(read_layout(self.release) if self.release else None, RELEASE)
        return wp_config(spec, self.desired.secrets, self.database, socket, code).encode()

    def _write_files(self) -> None:
        # The container passes through them, and cannot list them.
        for directory in (self.paths.memory, self.memory):
            directory.mkdir(mode=0o711, exist_ok=True)
        self.write_secret("wp-config.php", self._wp_config())
        self.write_secret("fpm.conf", fpm_configuration(self.desired.spec).encode())
