"""An artifact as an OCI image layout: a directory that any tool for container images reads."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from stead.artifacts import digests, manifest
from stead.artifacts.digests import Digest, hexadecimal
from stead.artifacts.fresh_directory import FreshDirectory
from stead.artifacts.manifest import Descriptor, canonical
from stead.artifacts.refusals import ArtifactUntrusted

OpenBlob = Callable[[Digest], AbstractContextManager[BinaryIO]]
_INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
_REF = "org.opencontainers.image.ref.name"
_LARGEST_MANIFEST = 1 << 20
_CHUNK = 1 << 20


def write_layout(into: Path, artifact: Digest, open_blob: OpenBlob, *, ref: str = "") -> None:
    """All of it or nothing; every blob is checked against its digest on the way. `ref` is what tools will
    call the artifact within the layout (`oci:DIRECTORY:REF`)."""
    with open_blob(artifact) as file:
        content = file.read(_LARGEST_MANIFEST + 1)
    described = Descriptor(manifest.MANIFEST_TYPE, artifact, len(content))
    with FreshDirectory(into) as fresh:
        for blob in {one.digest: one for one in manifest.blobs_of(content, artifact)}.values():
            fresh.file(f"blobs/sha256/{hexadecimal(digests.parse(blob.digest))}", _pieces(blob, open_blob))
        fresh.file(f"blobs/sha256/{hexadecimal(artifact)}", [content])
        fresh.file("index.json", [_index(described, ref)])
        fresh.file("oci-layout", [canonical({"imageLayoutVersion": "1.0.0"})])
        fresh.keep()


def _pieces(blob: Descriptor, open_blob: OpenBlob) -> Iterator[bytes]:
    state, size = hashlib.sha256(), 0
    with open_blob(digests.parse(blob.digest)) as file:
        while piece := file.read(_CHUNK):
            size += len(piece)
            if size > blob.size:
                break
            state.update(piece)
            yield piece
    if size != blob.size or f"sha256:{state.hexdigest()}" != blob.digest:
        raise ArtifactUntrusted(f"the blob {blob.digest} is not what its digest says")


def _index(described: Descriptor, ref: str) -> bytes:
    entry = {"mediaType": described.media_type, "digest": described.digest, "size": described.size}
    annotations = {"annotations": {_REF: ref}} if ref else {}
    return canonical({"schemaVersion": 2, "mediaType": _INDEX_TYPE, "manifests": [entry | annotations]})
