"""The files of a WordPress environment on the host."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from stead.node.containers.limits import MEMORY
from stead.node.containers.services import ServiceContainer
from stead.node.drivers import layout
from stead.node.wordpress.release_layout import UPLOADS

CORE, CONTENT = "srv/wordpress-core", "srv/wordpress-content"
"""Where the image of WordPress contains WordPress itself, and the first `wp-content` of a site."""


@dataclass(frozen=True)
class EnvironmentPaths:
    data: Path
    environment: str
    dataset: str = ""
    """The dataset whose disk is meant; the first one has no name."""

    @property
    def home(self) -> Path:
        return layout.environments(self.data) / self.environment

    @property
    def socket(self) -> Path:
        """Where the edge connects."""
        return self.home / "run" / "fpm.sock"

    @property
    def inside(self) -> Path:
        """The sockets that the container can use."""
        return self.home / "run" / "inside"

    @property
    def agent_socket(self) -> Path:
        """Where the site talks to the node."""
        return self.inside / "agent.sock"

    @property
    def database_socket(self) -> Path:
        """Where the container connects to its database, in a directory that it mounts."""
        return self.home / "run" / "db" / "mariadb.sock"

    @property
    def disk_file(self) -> Path:
        return self.data / "disks" / f"{self.environment}{f'.{self.dataset}' if self.dataset else ''}.ext4"

    @property
    def unfinished_disk_file(self) -> Path:
        """The disk while it is made."""
        return self.disk_file.with_name(f".{self.disk_file.name}")

    @property
    def disk(self) -> Path:
        """Where the disk is mounted. Root owns its top directory."""
        return self.home / (f"disk-{self.dataset}" if self.dataset else "disk")

    @property
    def complete(self) -> Path:
        """Exists when a dataset is complete that was made beside another one."""
        return self.disk / "complete"

    def list_datasets(self) -> set[str]:
        """All that have a disk, also an unfinished one."""
        names = {path.name.removeprefix(".") for path in self.disk_file.parent.glob(f"*{self.environment}.*")}
        middles = (name.removeprefix(self.environment).removesuffix("ext4") for name in names)
        mounts = {path.name.removeprefix("disk").removeprefix("-") for path in self.home.glob("disk*")}
        return {middle.strip(".") for middle in middles} | mounts

    @property
    def site(self) -> Path:
        """The files that the edge serves: links to WordPress itself, and `wp-content`."""
        return self.disk / "site"

    @property
    def content(self) -> Path:
        return self.site / "wp-content"

    @property
    def uploads(self) -> Path:
        return self.content / UPLOADS

    def release_site(self, release: str) -> Path:
        """The files that the edge serves for a release: links to WordPress itself, to the release, and to the
        uploads of the dataset."""
        return self.home / "sites" / (f"{release}-{self.dataset}" if self.dataset else release)

    @property
    def scratch(self) -> Path:
        """For files that are being copied to the disk. Nobody serves it."""
        return self.disk / "copying"

    @property
    def quarantine(self) -> Path:
        """For infected files on their way to the store. Only root can enter it."""
        return self.disk / "quarantine"

    @property
    def log(self) -> Path:
        return self.disk / "logs" / "php.log"

    @property
    def current(self) -> Path:
        """The root directory of the edge."""
        return self.home / "current"

    @property
    def container_name(self) -> str:
        return f"{container_prefix(self.data)}{self.environment}"

    @property
    def container(self) -> ServiceContainer:
        return ServiceContainer(self.container_name, self.memory / "bundle", self.log)

    @property
    def memory(self) -> Path:
        """A directory in memory, for secrets."""
        return MEMORY / self.container_name


def container_prefix(data: Path) -> str:
    """The prefix of the names of this node's containers; other nodes may share the machine."""
    return f"stead-wp-{hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:10]}-"
