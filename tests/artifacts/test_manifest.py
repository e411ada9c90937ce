"""A manifest is named by its digest, and equal content gives equal bytes."""

import datetime as dt
from pathlib import Path

import msgspec
import pytest

from stead.artifacts import digests, manifest
from stead.artifacts.manifest import ArtifactOrigin
from stead.artifacts.packer import MEDIA_TYPE as LAYER_TYPE
from stead.artifacts.packer import PackedLayer
from stead.artifacts.refusals import ArtifactUntrusted
from tests.artifacts.trees import File, layer, write


@pytest.fixture
def packed(tmp_path: Path) -> PackedLayer:
    return layer(write({"index.html": File(b"hello")}, tmp_path / "tree"))[1]


def test_the_same_tree_with_the_same_origin_has_the_same_digest(packed: PackedLayer) -> None:
    origin = ArtifactOrigin("https://example.com/site.git", "0" * 40, "main")
    first, second = (
        manifest.make_manifest(packed, origin),
        manifest.make_manifest(packed, origin),
    )
    assert first == second
    assert first.manifest.digest == digests.of(first.manifest.content)
    assert manifest.make_manifest(packed).manifest.digest != first.manifest.digest
    assert manifest.make_manifest(packed).config == first.config


def test_a_creation_time_is_optional(packed: PackedLayer) -> None:
    when = dt.datetime(2024, 5, 6, 9, 8, 7, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    told = msgspec.json.decode(manifest.make_manifest(packed, ArtifactOrigin(created=when)).manifest.content)
    assert told["annotations"] == {"org.opencontainers.image.created": "2024-05-06T07:08:07+00:00"}
    assert "annotations" not in msgspec.json.decode(manifest.make_manifest(packed).manifest.content)


def test_a_manifest_can_be_read_back(packed: PackedLayer) -> None:
    made = manifest.make_manifest(packed, ArtifactOrigin("https://example.com/a", "abc", "main"))
    assert manifest.config_of(made.manifest.content, made.manifest.digest).digest == made.config.digest
    artifact = manifest.read(made.manifest.content, made.config.content, made.manifest.digest)
    assert artifact.runtime == "static"
    assert artifact.layers == [(packed.digest, packed.size, packed.diff_id, packed.unpacked_bytes)]
    assert artifact.annotations == {
        "org.opencontainers.image.source": "https://example.com/a",
        "org.opencontainers.image.revision": "abc",
        "org.opencontainers.image.ref.name": "main",
    }


def test_the_json_is_canonical(packed: PackedLayer) -> None:
    content = manifest.make_manifest(packed).manifest.content
    assert content == manifest.canonical(msgspec.json.decode(content))
    assert b" " not in content
    assert list(msgspec.json.decode(content)) == sorted(msgspec.json.decode(content))


def _changed(content: bytes, **fields: object) -> bytes:
    return manifest.canonical(msgspec.json.decode(content) | fields)


def test_content_with_a_wrong_digest_is_refused(packed: PackedLayer) -> None:
    made = manifest.make_manifest(packed)
    good, config, digest = made.manifest.content, made.config.content, made.manifest.digest
    with pytest.raises(ArtifactUntrusted, match="the manifest is not what its digest says"):
        manifest.read(good + b" ", config, digest)
    with pytest.raises(ArtifactUntrusted, match="the configuration is not what its digest says"):
        manifest.read(good, config + b" ", digest)


@pytest.mark.parametrize(
    "fields",
    [
        {"artifactType": "application/vnd.example"},
        {"mediaType": "application/vnd.oci.image.index.v1+json"},
        {"schemaVersion": 1},
        {"layers": []},
        {"layers": [{"mediaType": "application/octet-stream", "digest": "sha256:" + "0" * 64, "size": 1}]},
        {"layers": [{"mediaType": LAYER_TYPE, "digest": "sha256:../../etc", "size": 1}]},
        {"layers": [{"mediaType": LAYER_TYPE, "digest": "sha256:" + "0" * 64, "size": -1}]},
        {"layers": None},
    ],
)
def test_a_manifest_with_wrong_content_is_refused(fields: dict[str, object], packed: PackedLayer) -> None:
    made = manifest.make_manifest(packed)
    content = _changed(made.manifest.content, **fields)
    with pytest.raises(ArtifactUntrusted):
        manifest.read(content, made.config.content, digests.of(content))


@pytest.mark.parametrize(
    "text", ["", "sha256:", "sha256:" + "A" * 64, "sha512:" + "0" * 64, "sha256:" + "0" * 64 + "\n"]
)
def test_a_digest_has_one_format(text: str) -> None:
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        digests.parse(text)
