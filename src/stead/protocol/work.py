"""The kinds of work that a node can do. Each is one class here, and a member of `Work` at the end.

Work names an end state, so doing it twice has the same effect as doing it once. A kind of work that returns
something names the type of its result (`result_type`), which is a member of `WorkResult`. A class that holds
secrets names their fields (`secret_fields`): they are sealed to the node (`sealed_work.py`).

A node may be older than the control plane. A field with its default is not sent, and a node refuses a field
that it does not know, instead of doing half of the work. So a new field has a default, which means what nodes
did before.
"""

from collections.abc import Collection
from typing import Annotated, ClassVar, Literal, get_args

from msgspec import Meta, Struct

from stead.shared.runtimes import Runtime

Builder = Literal["cms", "static", "wasm"]
BUILDERS: tuple[Builder, ...] = get_args(Builder)
"""What a builder makes."""


class WorkStruct(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Part of a command to a node."""


class NodeWork(WorkStruct, frozen=True):
    """What every kind of work declares. Its tag is its name in messages, logs and heartbeats."""

    result_type: ClassVar[type[Struct] | None] = None
    """What a node returns when the work is done; None when there is nothing to return."""
    unsupported_code: ClassVar[str] = "work.unsupported"
    """The error code of a node that has no driver for it."""
    has_own_limit: ClassVar[bool] = False
    """Whether its driver limits how many run at the same time. Such work may take long, and waits without
    taking the place of other work."""

    @property
    def variant(self) -> str:
        """The runtime or builder that must do it; empty when the kind of work has no variants."""
        return ""


def tag_of(kind: type[NodeWork]) -> str:
    return str(kind.__struct_config__.tag)


class RuntimeWork(NodeWork, frozen=True):
    """Work that only the driver of one runtime can do."""

    unsupported_code = "runtime.unsupported"

    runtime: Runtime

    @property
    def variant(self) -> str:
        return self.runtime


class LayerDownload(WorkStruct, frozen=True):
    secret_fields: ClassVar[tuple[str, ...]] = ("url",)

    digest: str
    url: str
    """Where to download it; signed by the control plane."""


class EnsureRelease(RuntimeWork, frozen=True, tag="ensure_release"):
    """The artifact is on this node, verified, as the release `release_of(digest)`. The environment's latest
    earlier releases stay, and so does every release that an edge record names."""

    digest: str
    manifest: bytes
    config: bytes
    envelope: bytes
    """The provenance of the artifact, signed by one of `keys`."""
    keys: tuple[bytes, ...]
    """Raw Ed25519 public keys of the installation."""
    layers: tuple[LayerDownload, ...]


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


FunctionId = Annotated[str, Meta(pattern=r"^fn_[0-9a-z]{26}$(?!\n)")]
FunctionVersionId = Annotated[str, Meta(pattern=r"^fnv_[0-9a-z]{26}$(?!\n)")]
BindingKind = Literal["kv", "coord", "fetch", "service"]


class FunctionBinding(WorkStruct, frozen=True):
    """What a function reaches under a name."""

    kind: BindingKind
    name: str
    namespace: str = ""
    """Of `kv` and `coord`."""
    allow: tuple[str, ...] = ()
    """The hosts of `fetch`: `host`, `*.host`, `host:port`."""
    target: str = ""
    """The function of the same site that `service` calls."""


class FunctionLimits(WorkStruct, frozen=True):
    memory_mb: Annotated[int, Meta(ge=8, le=512)] = 64
    wall_ms: Annotated[int, Meta(ge=10, le=30_000)] = 1000
    request_bytes: Annotated[int, Meta(ge=0, le=10 << 20)] = 1 << 20
    requests_per_second: Annotated[int, Meta(ge=1, le=10_000)] = 100


class EnsureFunction(NodeWork, frozen=True, tag="ensure_function"):
    """The version of a function is on this node: verified, compiled, and a process of it has started. The
    edge may send requests to it. The latest earlier versions of the function stay."""

    unsupported_code = "function.unsupported"
    has_own_limit = True
    secret_fields: ClassVar[tuple[str, ...]] = ("secrets",)

    function: FunctionId
    version: FunctionVersionId
    release: EnsureRelease
    limits: FunctionLimits = FunctionLimits()
    fresh: bool = False
    """Whether every request gets an instance of its own."""
    variables: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, str], ...] = ()
    bindings: tuple[FunctionBinding, ...] = ()
    active: bool = False
    """Whether other functions of the site call this version from now on."""


class RemoveFunction(NodeWork, frozen=True, tag="remove_function"):
    """No version of the function is on this node."""

    unsupported_code = "function.unsupported"

    function: FunctionId


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


class RepositoryAccess(WorkStruct, frozen=True):
    """The repository of a site's snapshots, and how this work may use it."""

    secret_fields: ClassVar[tuple[str, ...]] = ("url", "password")

    url: str
    """Of the repository gateway, with a token in its path: `https://host/r/<token>/`. The token names the
    site, what may be done, how much may be added, and until when."""
    password: str


SnapshotId = Annotated[str, Meta(pattern=r"^snap_[0-9a-zA-Z]{1,40}$(?!\n)")]
ResticId = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
ManifestDigest = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)")]
Amount = Annotated[int, Meta(ge=0, le=10**15)]


class SnapshotTaken(Struct, frozen=True, tag="snapshot_taken"):
    """What a node reports about a snapshot. Nothing is known to be restorable before `VerifySnapshot`."""

    restic_id: ResticId
    manifest_digest: ManifestDigest
    """`sha256:` and the hash of `manifest.json` in the snapshot."""
    size_bytes: Amount
    """Of everything in it, when it is restored."""
    added_bytes: Amount
    """That were not in the repository before, as stored."""
    files: Amount = 0
    rows: Amount = 0


class SnapshotVerified(Struct, frozen=True, tag="snapshot_verified"):
    """The snapshot was restored and compared with its manifest."""

    files: Amount = 0
    rows: Amount = 0
    booted: bool = False
    """WordPress has answered for its front page."""


class TakeSnapshot(RuntimeWork, frozen=True, tag="take_snapshot"):
    """A snapshot with this id is in the repository of the site: database, files and manifest, as they were at
    some time during the work. If it was there already, that one is returned."""

    result_type = SnapshotTaken
    has_own_limit = True

    repository: RepositoryAccess
    snapshot: SnapshotId
    document: bytes = b""
    """Copied into the manifest: what the control plane needs to restore the site. It holds no secrets."""


class VerifySnapshot(RuntimeWork, frozen=True, tag="verify_snapshot"):
    """The snapshot was restored out of sight, compared with its manifest, and discarded. One that is damaged
    is refused with `backup.damaged`, and one whose WordPress does not answer with `backup.unverified`."""

    result_type = SnapshotVerified
    has_own_limit = True

    repository: RepositoryAccess
    snapshot: SnapshotId
    restic_id: ResticId
    manifest_digest: str
    wordpress: WordPressSettings | None = None
    """For the runtime `cms`: what the restored site may use."""
    boot: bool = True
    """Whether WordPress is started, without network, and its front page requested."""


class RestoreSnapshot(RuntimeWork, frozen=True, tag="restore_snapshot"):
    """The environment has another dataset beside the one that it serves, with the content of the snapshot,
    compared with its manifest. Visitors do not see it before `EnsureEnvironment` names it."""

    has_own_limit = True

    repository: RepositoryAccess
    snapshot: SnapshotId
    restic_id: ResticId
    manifest_digest: str
    dataset: DatasetName
    wordpress: WordPressSettings | None = None
    """None only for the simulator."""
    hosts: tuple[str, ...] = ()
    """The hosts of the site when the snapshot was taken. In the restored content they are replaced by the
    host of the environment."""


DetectionId = Annotated[str, Meta(pattern=r"^det_[0-9a-zA-Z]{1,40}$(?!\n)")]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
Text = Annotated[str, Meta(max_length=4000, pattern=r"^[^\x00-\x1f\x7f]*\Z")]
ShortText = Annotated[str, Meta(max_length=300, pattern=r"^[^\x00-\x1f\x7f]*\Z")]
"""Without control characters: PostgreSQL refuses some of them, and the step would be repeated for ever."""
ComponentType = Literal["core", "plugin", "theme"]


class Component(Struct, frozen=True):
    """A part of a WordPress site: WordPress itself, a plugin or a theme."""

    type: ComponentType
    slug: ShortText
    name: ShortText
    version: ShortText
    """Empty if it says none."""


class Finding(Struct, frozen=True):
    """A file or row that is infected."""

    path: Text
    sha256: Sha256
    signature: ShortText
    engine: ShortText
    detail: ShortText = ""
    size: Amount = 0
    movable: bool = True
    """Whether it may be moved to the store. The main file of a plugin is not, nor is a row."""


class ScanReport(Struct, frozen=True, tag="scan_report"):
    """A complete scan. A scan whose engines have failed is refused, and has no report."""

    findings: Annotated[tuple[Finding, ...], Meta(max_length=700)] = ()
    components: Annotated[tuple[Component, ...], Meta(max_length=1000)] = ()
    held: Annotated[tuple[DetectionId, ...], Meta(max_length=2000)] = ()
    """The detections whose files are in the store of the node."""
    files: Amount = 0
    scanned: Amount = 0
    unchanged: Amount = 0
    failed: Amount = 0
    """Files without a result: they cannot be read, exceed a limit, or change all the time."""
    failures: Annotated[tuple[Text, ...], Meta(max_length=20)] = ()
    omitted: Amount = 0
    """Findings that are not in the report."""
    unfinished: Amount = 0
    """Files of `failed` for which there was no time left. The next scan goes on with them."""
    bytes: Amount = 0
    milliseconds: Amount = 0
    clamd: ShortText = ""
    rules: ShortText = ""


class ScanEnvironment(RuntimeWork, frozen=True, tag="scan_environment"):
    """The files and rows of the environment were scanned. Nothing is changed. If an engine fails, the work is
    refused with `scan.engine_failed`."""

    result_type = ScanReport
    has_own_limit = True

    full: bool = False
    """Also what was clean at the last scan and has not changed."""
    ignored: tuple[Sha256, ...] = ()
    """The hashes of what the owner has declared to be clean."""
    hosts: tuple[str, ...] = ()
    """The hosts of the environment."""
    scheduled: bool = False
    """Whether the platform has asked for it. Scans that customers ask for do not keep it waiting."""


class QuarantineItem(WorkStruct, frozen=True):
    detection: DetectionId
    path: Text
    sha256: Sha256
    signature: ShortText = ""


class QuarantineOutcome(Struct, frozen=True):
    detection: DetectionId
    outcome: Literal["quarantined", "gone", "failed"]
    reason: ShortText = ""
    replaced: bool = False
    """Whether a file that is known to be good is in its place."""


class QuarantineReport(Struct, frozen=True, tag="quarantine_report"):
    items: Annotated[tuple[QuarantineOutcome, ...], Meta(max_length=700)] = ()


class QuarantineFiles(RuntimeWork, frozen=True, tag="quarantine_files"):
    """Each file is in the store of the node and not in the site, unless its content is not the one that was
    scanned."""

    result_type = QuarantineReport
    has_own_limit = True

    scan: str
    items: tuple[QuarantineItem, ...]


class RestoreFile(RuntimeWork, frozen=True, tag="restore_file"):
    """The file is in the site as it was, and not in the store. If that is not possible, the work is refused
    with `quarantine.failed`, and the file is still in the store."""

    has_own_limit = True

    detection: DetectionId
    path: str = ""
    """Where the file was, if its description could not be written."""


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


Shell = Literal["cms-cli", "bash"]


class RunCommand(RuntimeWork, frozen=True, tag="run_command"):
    """A command of the customer has run in the environment, once. If it was interrupted, it is not repeated:
    nobody knows what it has done. A command that fails is refused with `exec.failed`."""

    has_own_limit = True
    secret_fields: ClassVar[tuple[str, ...]] = ("args",)

    shell: Shell
    args: tuple[str, ...]
    restricted: bool = True
    """Whether options and commands of WP-CLI that run code are switched off."""


class AccessKey(WorkStruct, frozen=True):
    """A public key that opens an environment over SSH."""

    id: str
    account: str
    """Who has the private key."""
    fingerprint: str
    """`SHA256:` and the hash of the public key, as OpenSSH shows it."""
    public_key: bytes
    """In the format of the SSH protocol: what OpenSSH writes in base64."""
    may_run_commands: bool = False
    """And open a shell. Without, it only transfers files and reaches the database."""
    expires_at: float | None = None
    """In seconds since 1970."""


class AccessPassword(WorkStruct, frozen=True):
    """A password for file transfers, for programs without keys."""

    secret_fields: ClassVar[tuple[str, ...]] = ("sha256",)

    id: str
    account: str
    """Who has created it."""
    sha256: bytes
    """It was generated and cannot be guessed, so a fast hash is safe."""
    expires_at: float | None = None


class DatabasePassword(WorkStruct, frozen=True):
    """A password for people who connect to the database of an environment."""

    secret_fields: ClassVar[tuple[str, ...]] = ("double_sha1",)

    id: str
    account: str
    """Who has created it."""
    double_sha1: bytes
    """The hash that MariaDB stores. It was generated and cannot be guessed, so a fast hash is safe."""
    expires_at: float | None = None


class SetAccess(NodeWork, frozen=True, tag="set_access"):
    """Exactly these keys and passwords open the environment over SSH, and its database. Of two lists for an
    environment, the one with the higher generation counts."""

    generation: int
    user: str
    """The user name that selects the environment."""
    keys: tuple[AccessKey, ...] = ()
    password: AccessPassword | None = None
    database: DatabasePassword | None = None


class SetPassword(RuntimeWork, frozen=True, tag="set_password"):
    """A user of the environment's WordPress has this password, and none of the sessions from before."""

    secret_fields: ClassVar[tuple[str, ...]] = ("password_hash",)

    user: str
    password_hash: str
    """As WordPress stores it."""


ComponentAction = Literal["install", "update", "activate", "deactivate", "delete"]


class AffectedVersions(Struct, frozen=True):
    """A range of versions that have a known vulnerability. Its ends are keys (`component_versions.py`)."""

    title: str
    from_key: bytes
    from_inclusive: bool
    to_key: bytes | None
    """None if all later versions are affected."""
    to_inclusive: bool
    fixed_version: str = ""

    def contains(self, key: bytes) -> bool:
        if key < self.from_key or (key == self.from_key and not self.from_inclusive):
            return False
        return self.to_key is None or key < self.to_key or (self.to_inclusive and key == self.to_key)


class ComponentChange(WorkStruct, frozen=True):
    action: ComponentAction
    kind: Literal["plugin", "theme"]
    slug: str
    version: str = ""
    """Of an installation or update; the latest one if empty."""
    archive: str = ""
    """A signed URL of the archive. If empty, the archive comes from the registry."""
    activate: bool = False
    refused: tuple[AffectedVersions, ...] = ()
    """Versions that are not installed."""


class ComponentOutcome(Struct, frozen=True):
    slug: str
    reason: str = ""
    """Why it was not changed; empty if it was."""


class ComponentsChanged(Struct, frozen=True, tag="components_changed"):
    outcomes: tuple[ComponentOutcome, ...] = ()


class ChangeComponents(RuntimeWork, frozen=True, tag="change_components"):
    """The plugins and themes of the environment are changed, one after the other. After a change that stops
    the site from answering, the component is what it was before. The work is refused if no change is made."""

    result_type = ComponentsChanged
    has_own_limit = True

    changes: tuple[ComponentChange, ...]
    host: str = ""
    """Of the site, for the probe."""


class SiteChange(WorkStruct, frozen=True):
    kind: str
    """As in a question to the site (`questions.py`)."""
    body: bytes


class ChangeContent(RuntimeWork, frozen=True, tag="change_content"):
    """The site has been asked to make these changes, one after the other. It is refused if none is made."""

    has_own_limit = True

    changes: tuple[SiteChange, ...]


class DatabaseExported(Struct, frozen=True, tag="database_exported"):
    size: Amount


class ExportDatabase(RuntimeWork, frozen=True, tag="export_database"):
    """A dump of the database, or the result of a statement, is in the object store."""

    result_type = DatabaseExported
    has_own_limit = True

    url: str
    """A signed URL to upload to."""
    tables: tuple[str, ...] = ()
    """All if empty."""
    compress: bool = True
    statement: bytes = b""
    """As in the question `database.query`. If empty, tables are exported."""


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


class GitSource(WorkStruct, frozen=True, tag="git"):
    """A commit of a repository: the given one, or else the head of the ref."""

    secret_fields: ClassVar[tuple[str, ...]] = ("key",)

    url: str
    ref: str
    commit: str = ""
    key: str = ""
    """The private key for a repository over ssh. Only the fetch uses it; the build never sees it."""


class ArchiveSource(WorkStruct, frozen=True, tag="archive"):
    """A tar, tar.gz or zip."""

    secret_fields: ClassVar[tuple[str, ...]] = ("url",)

    url: str
    ours: bool = False
    """In the installation's object store, by a signed URL. Any other address must be public."""


FunctionLanguage = Literal["javascript", "typescript", "rust", "tinygo", "go", "c", "zig", "swift"]


Filename = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$(?!\n)")]


class InlineSource(WorkStruct, frozen=True, tag="inline"):
    """A single file."""

    filename: Filename
    content: str


class FunctionBuild(WorkStruct, frozen=True):
    """How a function is compiled."""

    language: FunctionLanguage
    filename: Filename | None = None
    """The file in the source that is compiled; if there is none, it is looked for."""
    compatibility_date: Annotated[str, Meta(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?\Z")] = ""


MOST_PHP_REQUIREMENTS, LONGEST_PHP_REQUIREMENT = 100, 100
"""How many a release may have, and how many characters the texts of each."""


class PhpRequirement(Struct, frozen=True):
    """Which versions of PHP the code of a release is for, as Composer's files say it."""

    constraint: str
    package: str = ""
    """Whose requirement it is; empty for the project itself."""

    @property
    def is_plain(self) -> bool:
        """Whether it can be stored and shown: customers write these texts."""
        return all(
            len(text) <= LONGEST_PHP_REQUIREMENT and text.isprintable()
            for text in (self.constraint, self.package)
        )


class BuildResult(Struct, frozen=True, tag="build"):
    """What a node reports about a build. The control plane verifies all of it that it can."""

    digest: str
    size: int
    diff_id: str
    files: int
    bytes: int
    """Of the content of all files."""
    directories: int = 0
    commit: str = ""
    ref: str = ""
    author: str = ""
    message: str = ""
    php: tuple[PhpRequirement, ...] = ()
    source_digest: str = ""
    """Of everything in the commit that the site was built from; empty if the source is not a repository."""
    unchanged: bool = False
    """Nothing was built, because the source is the one that the command names."""


class Build(NodeWork, frozen=True, tag="build"):
    """The source is built in a sandbox, and the packed output is uploaded to `layer_url`."""

    result_type = BuildResult
    unsupported_code = "build.unavailable"
    has_own_limit = True
    secret_fields: ClassVar[tuple[str, ...]] = ("layer_url", "variables", "plain_variables")

    builder: Builder
    source: GitSource | ArchiveSource | InlineSource
    layer_url: str
    """Where to upload the layer; signed by the control plane for this object only."""
    variables: tuple[tuple[str, str], ...] = ()
    """Secret environment variables of the build; their values are masked in its output."""
    plain_variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that are not masked. A secret of the same name replaces one."""
    platform_variables: tuple[tuple[str, str], ...] = ()
    """What the platform tells the build about itself. No secrets; they replace others of the same name."""
    unchanged_source: str = ""
    """The `source_digest` of the live release. If the source has it, too, nothing is built."""
    function: FunctionBuild | None = None
    """For the builder of functions."""

    @property
    def variant(self) -> str:
        return self.builder


Work = (
    EnsureEnvironment
    | RemoveEnvironment
    | RestartEnvironment
    | SuspendEnvironment
    | PrepareDataset
    | DiscardDataset
    | TakeSnapshot
    | VerifySnapshot
    | RestoreSnapshot
    | ScanEnvironment
    | QuarantineFiles
    | RestoreFile
    | CheckPhp
    | SwitchPhp
    | RunCommand
    | SetAccess
    | SetPassword
    | ChangeComponents
    | ChangeContent
    | ExportDatabase
    | EnsureFunction
    | RemoveFunction
    | EnsureRoute
    | RemoveRoute
    | Probe
    | Build
    | EnsureRelease
)

WorkResult = (
    BuildResult
    | SnapshotTaken
    | SnapshotVerified
    | ComponentsChanged
    | DatabaseExported
    | ScanReport
    | QuarantineReport
)

HOSTING: tuple[type[NodeWork], ...] = (
    EnsureEnvironment,
    RemoveEnvironment,
    RestartEnvironment,
    EnsureRelease,
    Probe,
)
"""What a node must support to host environments."""


def supports_hosting(work: Collection[str]) -> bool:
    """Whether a node that supports these kinds of work can host environments."""
    return {tag_of(kind) for kind in HOSTING} <= set(work)


def release_of(digest: str) -> str:
    """The name of an artifact's directory on a node, and in the records of the edge."""
    return digest.removeprefix("sha256:")
