"""A directory tree becomes one OCI layer: the same tree, the same bytes, on any machine."""

import hashlib
import os
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import zstandard

from stead.artifacts.digests import Digest
from stead.artifacts.limits import LAYER, SizeLimits
from stead.artifacts.names import EntryKind
from stead.artifacts.refusals import TreeRefused
from stead.artifacts.tar_writer import END, directory_header, file_header, padding
from stead.artifacts.tree_walk import TreeWalk

MEDIA_TYPE = "application/vnd.oci.image.layer.v1.tar+zstd"
LEVEL = 3
CHUNK = 1 << 20

# Level 3 spelled out: what a level stands for may differ between versions of the library.
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
    """Of the tar before compression."""
    tar_size: int
    files: int
    directories: int
    content_bytes: int


def pack_layer(tree: Path, into: BinaryIO, limits: SizeLimits = LAYER) -> PackedLayer:
    """Write the layer of `tree` into a file; refuse a tree that holds anything but files and directories."""
    files = directories = content = 0
    with ThreadPoolExecutor(1, "pack") as beside:
        layer = _Layer(into, beside)
        for found in TreeWalk(tree, limits):
            if found.kind is EntryKind.DIRECTORY:
                directories += 1
                layer.write(directory_header(found.path))
                continue
            files += 1
            content += found.size
            layer.write(file_header(found.path, found.size, executable=found.executable))
            if not layer.copy(found.descriptor, found.size):
                raise TreeRefused("tree.changed", "the file became shorter while it was packed", found.path)
            layer.write(bytes(padding(found.size)))
        layer.write(END)
        layer.finish()
    return PackedLayer(
        digest=Digest(f"sha256:{layer.blob.hexdigest()}"),
        size=layer.size,
        diff_id=Digest(f"sha256:{layer.tar.hexdigest()}"),
        tar_size=layer.tar_size,
        files=files,
        directories=directories,
        content_bytes=content,
    )


class _Layer:
    """Gathers the tar in pieces of one length, so that the compressor is always handed the same ones. While
    one is compressed beside, the next is gathered in a second buffer."""

    def __init__(self, into: BinaryIO, beside: Executor) -> None:
        self._into, self._beside = into, beside
        self._compressor = zstandard.ZstdCompressor(compression_params=_PARAMETERS).compressobj()
        self._buffer, self._spare = memoryview(bytearray(CHUNK)), memoryview(bytearray(CHUNK))
        self._compressing: Future[None] | None = None
        self._at = 0
        self.tar, self.blob = hashlib.sha256(), hashlib.sha256()
        self.tar_size = self.size = 0

    def write(self, data: bytes) -> None:
        room = CHUNK - self._at
        if len(data) > room:
            self._buffer[self._at :] = data[:room]
            self._at = CHUNK
            self._hand_over()
            self.write(data[room:])
            return
        self._buffer[self._at : self._at + len(data)] = data
        self._at += len(data)

    def copy(self, descriptor: int, size: int) -> bool:
        """Whether the file had as many bytes."""
        while size:
            if self._at == CHUNK:
                self._hand_over()
            got = os.readv(descriptor, [self._buffer[self._at : self._at + size]])
            if not got:
                return False
            self._at += got
            size -= got
        return True

    def finish(self) -> None:
        self._hand_over()
        self._wait()
        self._put(self._compressor.flush())

    def _hand_over(self) -> None:
        piece = self._buffer[: self._at]
        self.tar.update(piece)
        self.tar_size += self._at
        self._wait()
        self._compressing = self._beside.submit(self._compress, piece)
        self._buffer, self._spare = self._spare, self._buffer
        self._at = 0

    def _wait(self) -> None:
        if self._compressing is not None:
            self._compressing.result()

    def _compress(self, piece: memoryview) -> None:
        self._put(self._compressor.compress(piece))

    def _put(self, data: bytes) -> None:
        self.blob.update(data)
        self.size += len(data)
        self._into.write(data)
