"""skopeo can read an exported artifact."""

import io
import subprocess
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import pytest

from stead.artifacts import digests, manifest
from stead.artifacts.digests import Digest
from stead.artifacts.layout import write_layout
from stead.artifacts.manifest import ArtifactOrigin, ManifestBlobs
from stead.artifacts.refusals import ArtifactUntrusted
from tests.artifacts.trees import File, layer, write

SKOPEO = "/usr/bin/skopeo"


class Store:
    """A directory of blobs by digest, with one artifact."""

    def __init__(self, tree: Path) -> None:
        self.blob, self.packed = layer(tree)
        self.made: ManifestBlobs = manifest.make_manifest(
            self.packed, ArtifactOrigin("https://example.com/s", "abc", "main")
        )
        self.artifact = self.made.manifest.digest
        self.blobs = {
            self.packed.digest: self.blob,
            self.artifact: self.made.manifest.content,
            self.made.config.digest: self.made.config.content,
        }

    def open(self, digest: Digest) -> BinaryIO:
        return io.BytesIO(self.blobs[digest])


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(write({"index.html": File(b"hello" * 1000), "a": {"b": File(b"")}}, tmp_path / "tree"))


def _skopeo(*arguments: str) -> Any:
    told = subprocess.run([SKOPEO, *arguments], capture_output=True, text=True, check=False, timeout=120)
    assert told.returncode == 0, told.stderr
    return msgspec.json.decode(told.stdout) if told.stdout else None


def test_skopeo_reads_the_layout(store: Store, tmp_path: Path) -> None:
    write_layout(tmp_path / "out", store.artifact, store.open, ref="v1")
    told = _skopeo("inspect", f"oci:{tmp_path}/out:v1")
    assert told["Digest"] == store.artifact
    assert told["Layers"] == [store.packed.digest]
    assert _skopeo("inspect", "--raw", f"oci:{tmp_path}/out") == msgspec.json.decode(
        store.made.manifest.content
    )
    config = _skopeo("inspect", "--config", f"oci:{tmp_path}/out")
    assert config["rootfs"]["diff_ids"] == [store.packed.diff_id]


def test_skopeo_copies_the_layout_unchanged(store: Store, tmp_path: Path) -> None:
    write_layout(tmp_path / "out", store.artifact, store.open)
    copy = [SKOPEO, "--insecure-policy", "copy", "--quiet", f"oci:{tmp_path}/out", f"oci:{tmp_path}/copy"]
    subprocess.run(copy, capture_output=True, check=True, timeout=120)
    for digest, content in store.blobs.items():
        assert (tmp_path / "copy" / "blobs" / "sha256" / digest[7:]).read_bytes() == content


def test_a_layout_contains_only_blobs_and_an_index(store: Store, tmp_path: Path) -> None:
    write_layout(tmp_path / "out", store.artifact, store.open)
    assert {
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()
    } == {
        "oci-layout",
        "index.json",
        *(f"blobs/sha256/{digest[7:]}" for digest in store.blobs),
    }
    assert (tmp_path / "out" / "oci-layout").read_bytes() == b'{"imageLayoutVersion":"1.0.0"}'


def test_a_blob_with_a_wrong_digest_leaves_no_layout(store: Store, tmp_path: Path) -> None:
    for digest, content in list(store.blobs.items()):
        for wrong in (content[:-1], content + b"x", bytes([content[0] ^ 1]) + content[1:]):
            store.blobs[digest] = wrong
            with pytest.raises(ArtifactUntrusted):
                write_layout(tmp_path / "out", store.artifact, store.open)
            assert [path.name for path in tmp_path.iterdir()] == ["tree"]
        store.blobs[digest] = content


def test_a_digest_that_is_a_path_is_refused(store: Store, tmp_path: Path) -> None:
    content = store.made.manifest.content.replace(store.made.config.digest.encode(), b"sha256:../../../evil")
    store.blobs[digests.of(content)] = content
    with pytest.raises(ArtifactUntrusted):
        write_layout(tmp_path / "out", digests.of(content), store.open)
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]
