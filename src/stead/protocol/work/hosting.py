"""Work that hosts environments: releases, processes, data, routes and probes."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from stead.protocol.work.base import NodeWork, RuntimeWork, WorkStruct
from stead.protocol.work.functions import EnsureFunction
from stead.protocol.work.releases import EnsureRelease

PhpVersion = Annotated[str, Meta(pattern=r"^8\.[0-9]$(?!\n)")]


def promised_mb(disk_mb: int) -> int:
    """How much disk space a WordPress environment may fill: its files, and a database of the same size."""
    return 2 * disk_mb


class WordPressSettings(WorkStruct, frozen=True):
    """What a WordPress environment is, and what it may use."""

    secret_fields: ClassVar[tuple[str, ...]] = ("admin_password",)

    php: PhpVersion
    url: str
    """Its address, as `https://host`, for what happens without a request."""
    title: str
    admin_user: str
    admin_email: str
    admin_password: str = ""
    """Of the new administrator. Used only when WordPress is installed; empty later."""
    environment_type: Literal["production", "staging", "development"] = "production"
    git_managed: bool = False
    """Its code is its release and cannot be changed by WordPress. Only uploads are writable."""
    workers: int = 4
    """How many requests PHP handles at the same time."""
    memory_mb: int = 512
    cpus: float = 1.0
    processes: int = 64
    disk_mb: int = 2048
    tenant: str = ""
    """Who owns the site: the tenants of a node share its memory."""

    @property
    def promised_mb(self) -> int:
        return promised_mb(self.disk_mb)

    @property
    def is_clone(self) -> bool:
        """Whether it is a copy of another environment, with the data of that one's customers."""
        return self.environment_type != "production"


PushMode = Literal["files", "db", "full"]


class EnsureEnvironment(RuntimeWork, frozen=True, tag="ensure_environment"):
    """Everything the environment needs to run is on this node, with a page to serve."""

    release: EnsureRelease | None = None
    """The release that the environment serves. The runtime `cms` changes to it, if it serves another one."""
    wordpress: WordPressSettings | None = None
    """For the runtime `cms`."""
    dataset: str = ""
    """Serve this dataset, which `PrepareDataset` has made; empty to keep the one that it serves."""
    push: PushMode | None = None
    """The dataset was pushed: only this part of it is served, and what visitors did meanwhile is kept."""
    functions: tuple[EnsureFunction, ...] = ()
    """For the runtime `wasm`: the functions that are served. The node may be a new one."""

    @property
    def waits_elsewhere(self) -> bool:
        """Its functions may have to be compiled, which has a limit of its own."""
        return bool(self.functions)


class RemoveEnvironment(NodeWork, frozen=True, tag="remove_environment"):
    """Nothing of the environment is on this node, whatever its runtime was."""


class RestartEnvironment(RuntimeWork, frozen=True, tag="restart_environment"):
    """The processes of the environment have been replaced by new ones."""


class SuspendEnvironment(RuntimeWork, frozen=True, tag="suspend_environment"):
    """No process of the environment runs, and visitors start none, until `EnsureEnvironment`. Its files and
    its database stay."""


DatasetName = Annotated[str, Meta(pattern=r"^[0-9a-z]{1,26}$")]


class PrepareDataset(RuntimeWork, frozen=True, tag="prepare_dataset"):
    """The environment has another dataset (a disk and a schema) beside the one that it serves: a copy of that
    of `source`, an environment on this node, or a new installation. Visitors do not see it before
    `EnsureEnvironment` names it."""

    has_own_limit = True

    dataset: DatasetName
    wordpress: WordPressSettings | None = None
    """None only for the simulator."""
    source: str = ""
    uploads: bool | None = None
    """Whether the uploads are copied; None is as it was in the dataset that the environment serves."""
    hosts: tuple[str, ...] = ()
    """The hosts of the source. In the copy they are replaced by the host of the environment."""
    push: PushMode | None = None
    """Make only this part, to be served by production."""


class DiscardDataset(RuntimeWork, frozen=True, tag="discard_dataset"):
    """The dataset is not on this node. If the environment serves it, it serves the one from before again."""

    dataset: DatasetName


class CheckPhp(RuntimeWork, frozen=True, tag="check_php"):
    """The environment can run on this version of PHP: the node has its image, the code of the site allows it,
    and the front page is answered in a container of its own. Otherwise the work is refused with the reason.
    The environment is not changed, and a requirement that the current version does not meet either does not
    count."""

    php: PhpVersion
    host: str
    force: bool = False
    """Only report what the code requires."""
    probe: bool = True
    """Whether the front page is requested."""


class SwitchPhp(RuntimeWork, frozen=True, tag="switch_php"):
    """The environment runs on this version of PHP from now on. One that sleeps or is suspended is not
    started."""

    php: PhpVersion
    restore: bool = False
    """Return to the image that the environment had before its last switch, if it was of this version."""


class EnsureRoute(NodeWork, frozen=True, tag="ensure_route"):
    """The environment answers exactly these hosts. Only for the simulator: real edges receive their routes
    through the feed."""

    unsupported_code = "route.unsupported"

    hosts: tuple[str, ...]


class RemoveRoute(NodeWork, frozen=True, tag="remove_route"):
    """The environment answers no host. Only for the simulator."""

    unsupported_code = "route.unsupported"


class Probe(NodeWork, frozen=True, tag="probe"):
    """The environment answers requests for the host, sent over HTTP through the edge. Otherwise the work is
    refused with the reason. Probes pass the environment's address allowlist."""

    host: str
    path: str = "/"
    status: int | None = None
    """The expected status; None accepts any success or redirect."""
    release: str = ""
    """Probe this release as if the environment served it. Visitors do not see it yet."""
    runtime: Literal["", "cms"] = ""
    """`cms`: the release has processes, so the node runs it in a container of its own instead of asking the
    edge."""

    @property
    def variant(self) -> str:
        return self.runtime
