"""Packs a directory tree into one OCI layer. The same tree gives the same bytes on any machine."""

import hashlib
import os
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import zstandard

from stead.artifacts.digests import Digest
from stead.artifacts.limits import LAYER, SizeLimits, unpacked_bytes
from stead.artifacts.names import EntryKind
from stead.artifacts.refusals import TreeRefused
from stead.artifacts.tar_writer import END, directory_header, file_header, padding_size
from stead.artifacts.tree_walk import TreeWalk

MEDIA_TYPE = "application/vnd.oci.image.layer.v1.tar+zstd"
LEVEL = 3
CHUNK = 1 << 20

# The parameters of level 3: a level may mean other parameters in another version of the library.
_PARAMETERS = zstandard.ZstdCompressionParameters(
    format=zstandard.FORMAT_ZSTD1,
    compression_level=LEVEL,
    strategy=zstandard.STRATEGY_DFAST,
    window_log=21,
    chain_log=16,
    hash_log=17,
    search_log=1,
    min_match=5,
    target_length=0,
    write_content_size=False,
    write_checksum=False,
    write_dict_id=False,
    enable_ldm=False,
    threads=0,
)


@dataclass(frozen=True, slots=True)
class PackedLayer:
    digest: Digest
    size: int
    diff_id: Digest
    """The digest of the tar before compression."""
    tar_size: int
    files: int
    directories: int
    content_bytes: int

    @property
    def unpacked_bytes(self) -> int:
        return unpacked_bytes(self.content_bytes, self.files + self.directories)


def pack_layer(tree: Path, into: BinaryIO, limits: SizeLimits = LAYER) -> PackedLayer:
    """Write the layer of the tree into a file; refuse a tree with anything but files and directories."""
    files = directories = content = 0
    with ThreadPoolExecutor(1, "pack") as executor:
        layer = _LayerWriter(into, executor)
        for entry in TreeWalk(tree, limits):
            if entry.kind is EntryKind.DIRECTORY:
                directories += 1
                layer.write(directory_header(entry.path))
                continue
            files += 1
            content += entry.size
            layer.write(file_header(entry.path, entry.size, executable=entry.executable))
            if not layer.copy(entry.descriptor, entry.size):
                raise TreeRefused("tree.changed", "the file became shorter while it was packed", entry.path)
            layer.write(bytes(padding_size(entry.size)))
        layer.write(END)
        layer.finish()
    if limits.expands_too_much(layer.size, layer.tar_size):
        raise TreeRefused(
            "tree.too_large", f"its files compress to less than 1/{limits.ratio} of their size", ""
        )
    return PackedLayer(
        digest=Digest(f"sha256:{layer.blob.hexdigest()}"),
        size=layer.size,
        diff_id=Digest(f"sha256:{layer.tar.hexdigest()}"),
        tar_size=layer.tar_size,
        files=files,
        directories=directories,
        content_bytes=content,
    )


class _LayerWriter:
    """Passes the tar to the compressor in chunks of a fixed length, so that the output does not depend on how
    it was written. While one chunk is compressed in another thread, the next is filled in a second buffer."""

    def __init__(self, into: BinaryIO, executor: Executor) -> None:
        self._into, self._executor = into, executor
        self._compressor = zstandard.ZstdCompressor(compression_params=_PARAMETERS).compressobj()
        self._buffer, self._spare = memoryview(bytearray(CHUNK)), memoryview(bytearray(CHUNK))
        self._compressing: Future[None] | None = None
        self._at = 0
        self.tar, self.blob = hashlib.sha256(), hashlib.sha256()
        self.tar_size = self.size = 0

    def write(self, data: bytes) -> None:
        space = CHUNK - self._at
        if len(data) > space:
            self._buffer[self._at :] = data[:space]
            self._at = CHUNK
            self._submit()
            self.write(data[space:])
            return
        self._buffer[self._at : self._at + len(data)] = data
        self._at += len(data)

    def copy(self, descriptor: int, size: int) -> bool:
        """Return whether the file had that many bytes."""
        while size:
            if self._at == CHUNK:
                self._submit()
            got = os.readv(descriptor, [self._buffer[self._at : self._at + size]])
            if not got:
                return False
            self._at += got
            size -= got
        return True

    def finish(self) -> None:
        self._submit()
        self._wait()
        self._write_out(self._compressor.flush())

    def _submit(self) -> None:
        chunk = self._buffer[: self._at]
        self.tar.update(chunk)
        self.tar_size += self._at
        self._wait()
        self._compressing = self._executor.submit(self._compress, chunk)
        self._buffer, self._spare = self._spare, self._buffer
        self._at = 0

    def _wait(self) -> None:
        if self._compressing is not None:
            self._compressing.result()

    def _compress(self, chunk: memoryview) -> None:
        self._write_out(self._compressor.compress(chunk))

    def _write_out(self, data: bytes) -> None:
        self.blob.update(data)
        self.size += len(data)
        self._into.write(data)
