"""The OCI manifest and configuration of an artifact. The same content always gives the same bytes."""

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import msgspec

from stead.artifacts import digests
from stead.artifacts.digests import Digest
from stead.artifacts.packer import MEDIA_TYPE as LAYER_TYPE
from stead.artifacts.packer import PackedLayer
from stead.artifacts.refusals import ArtifactUntrusted
from stead.shared.runtimes import RUNTIMES, Runtime

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
TYPES: dict[Runtime, str] = {runtime: f"application/vnd.stead.{runtime}.v1" for runtime in RUNTIMES}
_RUNTIMES: dict[str, Runtime] = {media_type: runtime for runtime, media_type in TYPES.items()}
_MAX_BYTES = 1 << 20
_MAX_DIGITS = 15
_PREFIX = "org.opencontainers.image."
_UNPACKED_BYTES = "vnd.stead.unpacked-bytes"


@dataclass(frozen=True, slots=True)
class ArtifactOrigin:
    """Where an artifact came from. Empty fields are not in the manifest, so the same tree with the same
    origin has the same digest. With a creation time every digest is different."""

    source: str = ""
    revision: str = ""
    ref: str = ""
    created: dt.datetime | None = None

    def annotations(self) -> dict[str, str]:
        values = {"source": self.source, "revision": self.revision, "ref.name": self.ref}
        if self.created is not None:
            values["created"] = self.created.astimezone(dt.UTC).isoformat(timespec="seconds")
        return {_PREFIX + key: value for key, value in values.items() if value}


class Descriptor(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    media_type: str
    digest: Annotated[str, msgspec.Meta(pattern=digests.PATTERN)]
    size: Annotated[int, msgspec.Meta(ge=0)]
    annotations: dict[str, str] = {}

    @property
    def unpacked_bytes(self) -> int | None:
        """How much space a layer takes when it is unpacked. None if the manifest does not say it."""
        text = self.annotations.get(_UNPACKED_BYTES, "")
        return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else None


class Blob(NamedTuple):
    """A small file to store under its digest."""

    digest: Digest
    content: bytes
    media_type: str

    def descriptor(self) -> Descriptor:
        return Descriptor(self.media_type, self.digest, len(self.content))


class ManifestBlobs(NamedTuple):
    manifest: Blob
    config: Blob


class Layer(NamedTuple):
    digest: Digest
    size: int
    diff_id: Digest
    unpacked_bytes: int | None = None
    """Signed with the manifest, so a node refuses a layer that takes more space than this."""


class Artifact(NamedTuple):
    """The content of a verified manifest and its configuration."""

    runtime: Runtime
    layers: list[Layer]
    annotations: dict[str, str]


class _Rootfs(msgspec.Struct, frozen=True):
    type: Literal["layers"]
    diff_ids: list[Annotated[str, msgspec.Meta(pattern=digests.PATTERN)]]


class _Config(msgspec.Struct, frozen=True):
    architecture: str
    os: str
    rootfs: _Rootfs


class _Manifest(msgspec.Struct, frozen=True, rename="camel"):
    schema_version: Literal[2]
    media_type: str
    artifact_type: str
    config: Descriptor
    layers: list[Descriptor]
    annotations: dict[str, str] = {}


def canonical(value: object) -> bytes:
    """JSON in canonical form: sorted keys, no white space, UTF-8."""
    return msgspec.json.encode(value, order="sorted")


def make_manifest(
    packed: PackedLayer, origin: ArtifactOrigin | None = None, runtime: Runtime = "static"
) -> ManifestBlobs:
    """The manifest of a site that consists of files: one layer, for any architecture."""
    rootfs = _Rootfs("layers", [packed.diff_id])
    config = _blob(_Config("unknown", "unknown", rootfs), CONFIG_TYPE)
    space = {_UNPACKED_BYTES: str(packed.unpacked_bytes)}
    layer = Descriptor(LAYER_TYPE, packed.digest, packed.size, space)
    annotations = {} if origin is None else origin.annotations()
    manifest = _Manifest(2, MANIFEST_TYPE, TYPES[runtime], config.descriptor(), [layer], annotations)
    content = msgspec.to_builtins(manifest)
    if not annotations:
        del content["annotations"]
    return ManifestBlobs(_blob(content, MANIFEST_TYPE), config)


def config_of(manifest: bytes, digest: Digest) -> Descriptor:
    """The descriptor of the configuration, which has to be fetched next."""
    return _read(manifest, digest).config


def read(manifest: bytes, config: bytes, digest: Digest) -> Artifact:
    """Parse the artifact with this digest. Manifest and configuration are refused if their digests are
    wrong."""
    parsed = _read(manifest, digest)
    digests.check("the configuration", config, digests.parse(parsed.config.digest))
    if parsed.artifact_type not in _RUNTIMES:
        raise ArtifactUntrusted("the manifest is of a kind that is not known")
    try:
        configuration = msgspec.json.decode(config, type=_Config)
    except msgspec.MsgspecError:
        raise ArtifactUntrusted("the configuration cannot be read") from None
    contents = configuration.rootfs.diff_ids
    if len(contents) != len(parsed.layers):
        raise ArtifactUntrusted("manifest and configuration differ in how many layers there are")
    layers = []
    for layer, content in zip(parsed.layers, contents, strict=True):
        if layer.media_type != LAYER_TYPE:
            raise ArtifactUntrusted("a layer is of a type that is not known")
        layers.append(
            Layer(digests.parse(layer.digest), layer.size, digests.parse(content), layer.unpacked_bytes)
        )
    return Artifact(_RUNTIMES[parsed.artifact_type], layers, parsed.annotations)


def blobs_of(manifest: bytes, digest: Digest) -> list[Descriptor]:
    """All blobs that the manifest refers to."""
    parsed = _read(manifest, digest)
    return [parsed.config, *parsed.layers]


def _read(manifest: bytes, digest: Digest) -> _Manifest:
    if len(manifest) > _MAX_BYTES:
        raise ArtifactUntrusted("the manifest is too long")
    digests.check("the manifest", manifest, digest)
    try:
        parsed = msgspec.json.decode(manifest, type=_Manifest)
    except msgspec.MsgspecError:
        raise ArtifactUntrusted("the manifest cannot be read") from None
    if parsed.media_type != MANIFEST_TYPE or parsed.config.media_type != CONFIG_TYPE:
        raise ArtifactUntrusted("the manifest is of a type that is not known")
    return parsed


def _blob(value: object, media_type: str) -> Blob:
    content = canonical(value)
    return Blob(digests.of(content), content, media_type)
