"""The releases on this node: downloaded by digest, verified by signature, removed when they are not needed.

`releases/<name>` is complete or does not exist. Each environment has a list of its latest releases. A release
that no list, no edge record and no runtime names is removed.
"""

import asyncio
import contextlib
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from stead.artifacts import digests, manifest, provenance
from stead.artifacts.limits import LAYER
from stead.artifacts.manifest import Layer
from stead.artifacts.precompression import MAX_TOTAL_BYTES as MAX_COMPRESSED_BYTES
from stead.artifacts.precompression import add_compressed_files
from stead.artifacts.refusals import ArchiveRefused, ArtifactUntrusted
from stead.artifacts.unpacker import unpack_layer
from stead.node import transfer
from stead.node.disk_space import DiskSpace
from stead.node.drivers import layout
from stead.node.drivers.driver import Refusal
from stead.node.drivers.release_rules import ReleaseRules
from stead.node.uninterrupted import run_in_thread
from stead.protocol.edge_records import PLACEHOLDER
from stead.protocol.work.releases import EnsureRelease
from stead.shared.runtimes import Runtime

KEPT_RELEASES = 10
LIST = "releases"
"""The file with an environment's latest releases, newest first, one name per line."""
UNTRUSTED = ArtifactUntrusted.code

ReferencedReleases = Callable[[], set[str] | None]

log = structlog.get_logger()


def unknown_references() -> set[str] | None:
    return None


def verify_release(wanted: EnsureRelease, kind: Runtime | None = None) -> list[Layer]:
    """Return the layers of the artifact, if one of the keys has signed it; otherwise refuse it."""
    try:
        digest = digests.parse(wanted.digest)
        keys = [Ed25519PublicKey.from_public_bytes(raw) for raw in wanted.keys]
        provenance.verify(wanted.envelope, keys, digest)
        artifact = manifest.read(wanted.manifest, wanted.config, digest)
    except ArtifactUntrusted as untrusted:
        raise Refusal(UNTRUSTED, untrusted.reason) from None
    except ValueError:
        raise Refusal(UNTRUSTED, "the digest or a key cannot be read") from None
    if kind is not None and artifact.runtime != kind:
        raise Refusal(UNTRUSTED, f"it was signed as a {artifact.runtime} artifact, not as a {kind} one")
    if [layer.digest for layer in artifact.layers] != [layer.digest for layer in wanted.layers]:
        raise Refusal(UNTRUSTED, "other layers are offered than those that were signed")
    if len(artifact.layers) != 1:
        raise Refusal(UNTRUSTED, "it does not have exactly one layer")
    return artifact.layers


@asynccontextmanager
async def fetch_layer(layer: Layer, address: str, into: Path) -> AsyncIterator[Path]:
    """Download the layer into a temporary file and verify its digest."""
    file = into / f"{digests.hexadecimal(layer.digest)}.{token_hex(8)}"
    try:
        await transfer.get(address, file, max_bytes=layer.size)
        if await run_in_thread(_digest_file, file) != (layer.digest, layer.size):
            raise Refusal(UNTRUSTED, "the layer is not what its digest says")
        yield file
    except transfer.TooLarge:
        raise Refusal(UNTRUSTED, "the layer is larger than its digest says") from None
    finally:
        file.unlink(missing_ok=True)


def _digest_file(path: Path) -> tuple[digests.Digest, int]:
    with path.open("rb") as file:
        return digests.of_file(file)


class Releases:
    def __init__(self, data: Path, referenced: ReferencedReleases, space: DiskSpace) -> None:
        self._space = space
        self._home, self._downloads, self._referenced = (
            layout.releases(data),
            layout.downloads(data),
            referenced,
        )
        # Downloads that a restart interrupted are started again.
        shutil.rmtree(self._downloads, ignore_errors=True)
        self._downloads.mkdir(mode=0o700)
        self._rules = ReleaseRules(data)
        self._rules.remove_others({path.name for path in self._home.iterdir()})
        self._wanted: Counter[str] = Counter()
        self._wanted_since_collection: set[str] = set()
        """All releases that were wanted since a collection began. The lists that it read may not name them
        yet."""
        self._users: list[Callable[[], Collection[str]]] = []
        self._locks: dict[str, asyncio.Lock] = {}
        self._collecting = asyncio.Lock()
        self._choosing_time = threading.Lock()

    def add_user(self, list_used: Callable[[], Collection[str]]) -> None:
        """Keep what the function returns: the releases that a runtime needs, whatever the edge knows."""
        self._users.append(list_used)

    async def ensure(self, wanted: EnsureRelease, kind: Runtime) -> bool:
        """Return whether it had to be downloaded. It is kept at least until `add_to_list`."""
        name = layout.release_name(wanted.digest)
        # Verified even if it is already here: its key may have been removed since.
        (layer,) = await run_in_thread(verify_release, wanted, kind)
        self._wanted[name] += 1
        self._wanted_since_collection.add(name)
        try:
            async with self._locks.setdefault(name, asyncio.Lock()):
                if (self._home / name).exists():
                    if kind == "static":
                        await run_in_thread(self._rules.write_missing, self._home / name, name)
                    return False
                prepare = self._prepare_static if kind == "static" else self._prepare
                needed = layer.size + (layer.unpacked_bytes or 0)
                if kind == "static":
                    needed += min(layer.unpacked_bytes or 0, MAX_COMPRESSED_BYTES)
                with self._space.reserve(needed):
                    async with fetch_layer(layer, wanted.layers[0].url, self._downloads) as file:
                        await run_in_thread(self._unpack, file, name, layer, prepare)
                return True
        except BaseException:
            self._release_hold(name)
            raise

    async def add_to_list(self, environment: Path, wanted: EnsureRelease) -> None:
        """Add it to the environment's latest releases, which are kept."""
        name = layout.release_name(wanted.digest)
        try:
            await run_in_thread(_add_to_list, environment, name)
        finally:
            self._release_hold(name)

    async def collect(self, environments: Path) -> None:
        """Remove the releases that are not needed any more."""
        async with self._collecting:
            self._wanted_since_collection = set(self._wanted)
            referenced = await run_in_thread(self._referenced)
            if referenced is None:
                return
            used = {name for list_used in self._users for name in list_used()}
            needed = {PLACEHOLDER, *referenced, *used}
            for name in await run_in_thread(self._unneeded, environments, needed):
                # There is no await between this check and the rename, so no task can want it meanwhile.
                if _release_of(name) not in self._wanted_since_collection:
                    hidden = _hide(self._home / name)
                    await run_in_thread(shutil.rmtree, hidden, ignore_errors=True)
                    self._rules.remove(_release_of(name))
                    log.info("release.removed", release=name)

    def _release_hold(self, name: str) -> None:
        self._wanted[name] -= 1
        if self._wanted[name] <= 0:
            del self._wanted[name]
            self._locks.pop(name, None)

    def _prepare(self, release: Path, name: str) -> None:  # noqa: ARG002
        self._set_times(release)

    def _prepare_static(self, release: Path, name: str) -> None:
        self._rules.write(release, name)
        add_compressed_files(release)
        self._set_times(release)

    def _unpack(self, file: Path, name: str, layer: Layer, prepare: Callable[[Path, str], None]) -> None:
        try:
            with file.open("rb") as blob:
                unpack_layer(
                    blob,
                    self._home / name,
                    digest=layer.digest,
                    size=layer.size,
                    diff_id=layer.diff_id,
                    limits=replace(LAYER, unpacked_bytes=layer.unpacked_bytes),
                    before_visible=lambda release: prepare(release, name),
                )
        except ArtifactUntrusted as untrusted:
            raise Refusal(UNTRUSTED, untrusted.reason) from None
        except ArchiveRefused as refused:
            raise Refusal(UNTRUSTED, str(refused)) from None

    def _set_times(self, release: Path) -> None:
        """Give every release of this node another modification time. Browsers recognize a new version of a
        file by its size and the second of its modification time."""
        with self._choosing_time:
            others = [_modification_time(path) for path in self._home.iterdir() if path != release]
            moment = int(max([time.time(), *(time_of_other + 1 for time_of_other in others)]))
            os.utime(release, (moment, moment))
        for folder, _, files in os.walk(release):
            for name in files:
                os.utime(Path(folder) / name, (moment, moment))

    def _unneeded(self, environments: Path, wanted: set[str]) -> list[str]:
        for environment in layout.list_names(environments):
            wanted.update(_read_list(environments / environment))
        # A hidden name is a leftover of an interrupted start or removal, unless it is being unpacked now.
        return [path.name for path in self._home.iterdir() if path.name not in wanted]


def _modification_time(release: Path) -> float:
    try:
        return release.stat().st_mtime
    except FileNotFoundError:
        # It was renamed or removed since it was listed.
        return 0.0


def _release_of(name: str) -> str:
    """The release that a directory contains, or will contain when it is complete."""
    return name.lstrip(".").partition(".")[0]


def _read_list(environment: Path) -> list[str]:
    try:
        return (environment / LIST).read_text().split()
    except (FileNotFoundError, NotADirectoryError):
        return []


def _add_to_list(environment: Path, name: str) -> None:
    others = [other for other in _read_list(environment) if other != name]
    kept = [name, *others][:KEPT_RELEASES]
    layout.write_file(environment / LIST, "".join(f"{release}\n" for release in kept).encode())


def remove_interrupted_lists(environments: Path) -> None:
    """Remove the lists that an earlier process of this node had begun to write."""
    for path in environments.glob(f"*/.{LIST}.*"):
        path.unlink(missing_ok=True)


def _hide(release: Path) -> Path:
    """Rename it in one step. Processes that have a file of it open can continue to read."""
    if release.name.startswith("."):
        return release
    hidden = layout.hidden_name(release)
    with contextlib.suppress(FileNotFoundError):
        release.rename(hidden)
    return hidden
