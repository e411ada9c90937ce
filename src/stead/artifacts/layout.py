"""Exports an artifact as an OCI image layout: a directory that tools for container images can read."""

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
_MAX_MANIFEST_BYTES = 1 << 20
_CHUNK = 1 << 20


def write_layout(into: Path, artifact: Digest, open_blob: OpenBlob, *, ref: str = "") -> None:
    """Write the complete layout or nothing; every blob is verified against its digest. `ref` is the name of
    the artifact in the layout, for tools (`oci:DIRECTORY:REF`)."""
    with open_blob(artifact) as file:
        content = file.read(_MAX_MANIFEST_BYTES + 1)
    descriptor = Descriptor(manifest.MANIFEST_TYPE, artifact, len(content))
    with FreshDirectory(into) as fresh:
        for blob in {blob.digest: blob for blob in manifest.blobs_of(content, artifact)}.values():
            fresh.add_file(
                f"blobs/sha256/{hexadecimal(digests.parse(blob.digest))}", _read_blob(blob, open_blob)
            )
        fresh.add_file(f"blobs/sha256/{hexadecimal(artifact)}", [content])
        fresh.add_file("index.json", [_index(descriptor, ref)])
        fresh.add_file("oci-layout", [canonical({"imageLayoutVersion": "1.0.0"})])
        fresh.finish()


def _read_blob(blob: Descriptor, open_blob: OpenBlob) -> Iterator[bytes]:
    state, size = hashlib.sha256(), 0
    with open_blob(digests.parse(blob.digest)) as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            if size > blob.size:
                break
            state.update(chunk)
            yield chunk
    if size != blob.size or f"sha256:{state.hexdigest()}" != blob.digest:
        raise ArtifactUntrusted(f"the blob {blob.digest} is not what its digest says")


def _index(descriptor: Descriptor, ref: str) -> bytes:
    entry = {"mediaType": descriptor.media_type, "digest": descriptor.digest, "size": descriptor.size}
    annotations = {"annotations": {_REF: ref}} if ref else {}
    return canonical({"schemaVersion": 2, "mediaType": _INDEX_TYPE, "manifests": [entry | annotations]})
