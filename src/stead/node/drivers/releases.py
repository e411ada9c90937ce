"""Releases on this node: fetched by their digest, believed when signed, kept while anybody may want them.

`releases/<name>` is whole or not there. Each environment has a list of those it had lately; what no list and
no record of the edge names is removed.
"""

import asyncio
import contextlib
import os
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from stead.artifacts import digests, manifest, provenance
from stead.artifacts.manifest import Layer
from stead.artifacts.refusals import ArchiveRefused, ArtifactUntrusted
from stead.artifacts.unpacker import unpack_layer
from stead.node import transfer
from stead.node.drivers import layout
from stead.node.drivers.driver import Refusal
from stead.node.uninterrupted import run_in_thread
from stead.protocol.edge_records import PLACEHOLDER
from stead.protocol.work import EnsureRelease
from stead.shared.runtimes import Runtime

KEPT_RELEASES = 10
LIST = "releases"
"""In an environment's directory: the names of those it had lately, the newest first, a line each."""
UNTRUSTED = ArtifactUntrusted.code

ReferencedReleases = Callable[[], set[str] | None]

log = structlog.get_logger()


def unknown_references() -> set[str] | None:
    return None


def verify_release(wanted: EnsureRelease, kind: Runtime | None = None) -> list[Layer]:
    """The layers of an artifact that one of the keys has signed, by their digests; else refused."""
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
    """A file with exactly these bytes, for as long as it is needed."""
    file = into / f"{digests.hexadecimal(layer.digest)}.{token_hex(8)}"
    try:
        await transfer.get(address, file, max_bytes=layer.size)
        if await run_in_thread(_looked_at, file) != (layer.digest, layer.size):
            raise Refusal(UNTRUSTED, "the layer is not what its digest says")
        yield file
    except transfer.TooLarge:
        raise Refusal(UNTRUSTED, "the layer is larger than its digest says") from None
    finally:
        file.unlink(missing_ok=True)


def _looked_at(path: Path) -> tuple[digests.Digest, int]:
    with path.open("rb") as file:
        return digests.of_file(file)


class Releases:
    def __init__(self, data: Path, named: ReferencedReleases) -> None:
        self._home, self._downloads, self._named = layout.releases(data), layout.downloads(data), named
        # What an earlier life was fetching is fetched anew.
        shutil.rmtree(self._downloads, ignore_errors=True)
        self._downloads.mkdir(mode=0o700)
        self._wanted: Counter[str] = Counter()
        self._wanted_meanwhile: set[str] = set()
        """At any time since a collection began: what was noted since may be missing in what it read."""
        self._one_at_a_time: dict[str, asyncio.Lock] = {}
        self._collecting = asyncio.Lock()

    async def ensure(self, wanted: EnsureRelease, kind: Runtime) -> bool:
        """Whether it had to be fetched. It stays at least until it has been noted."""
        name = layout.release_name(wanted.digest)
        # Also of one that is here: a key may have been removed since.
        (layer,) = await run_in_thread(verify_release, wanted, kind)
        self._wanted[name] += 1
        self._wanted_meanwhile.add(name)
        try:
            async with self._one_at_a_time.setdefault(name, asyncio.Lock()):
                if (self._home / name).exists():
                    return False
                async with fetch_layer(layer, wanted.layers[0].url, self._downloads) as file:
                    await run_in_thread(self._unpack, file, name, layer)
                return True
        except BaseException:
            self._let_go(name)
            raise

    async def note(self, environment: Path, wanted: EnsureRelease) -> None:
        """From now on it is kept because the environment had it lately."""
        name = layout.release_name(wanted.digest)
        try:
            await run_in_thread(_note, environment, name)
        finally:
            self._let_go(name)

    async def collect(self, environments: Path) -> None:
        async with self._collecting:
            self._wanted_meanwhile = set(self._wanted)
            named = await run_in_thread(self._named)
            if named is None:
                return
            for name in await run_in_thread(self._unneeded, environments, {PLACEHOLDER, *named}):
                # Nobody begins to want it between the look and the rename: there is no await.
                if _release_of(name) not in self._wanted_meanwhile:
                    doomed = _hidden(self._home / name)
                    await run_in_thread(shutil.rmtree, doomed, ignore_errors=True)
                    log.info("release.removed", release=name)

    def _let_go(self, name: str) -> None:
        self._wanted[name] -= 1
        if self._wanted[name] <= 0:
            del self._wanted[name]
            self._one_at_a_time.pop(name, None)

    def _unpack(self, file: Path, name: str, layer: Layer) -> None:
        try:
            with file.open("rb") as blob:
                unpack_layer(
                    blob, self._home / name, digest=layer.digest, size=layer.size, diff_id=layer.diff_id
                )
        except ArtifactUntrusted as untrusted:
            raise Refusal(UNTRUSTED, untrusted.reason) from None
        except ArchiveRefused as refused:
            raise Refusal(UNTRUSTED, str(refused)) from None
        self._stamp(self._home / name)

    def _stamp(self, release: Path) -> None:
        """Visitors' browsers tell two versions of a file apart by its second and its size: so no two
        releases of this node are of the same second."""
        others = [_moment(each) for each in self._home.iterdir() if each != release]
        moment = int(max([time.time(), *(mtime + 1 for mtime in others)]))
        for folder, _, files in os.walk(release):
            for name in files:
                os.utime(Path(folder) / name, (moment, moment))
        os.utime(release, (moment, moment))

    def _unneeded(self, environments: Path, wanted: set[str]) -> list[str]:
        for environment in layout.list_names(environments):
            wanted.update(_listed(environments / environment))
        # A name with a dot in front was left by an earlier life, unless it is in the making right now.
        return [each.name for each in self._home.iterdir() if each.name not in wanted]


def _moment(release: Path) -> float:
    try:
        return release.stat().st_mtime
    except FileNotFoundError:
        # It came to its own name, or went, since it was listed.
        return 0.0


def _release_of(name: str) -> str:
    """Which release a directory is, or is to become."""
    return name.lstrip(".").partition(".")[0]


def _listed(environment: Path) -> list[str]:
    try:
        return (environment / LIST).read_text().split()
    except (FileNotFoundError, NotADirectoryError):
        return []


def _note(environment: Path, name: str) -> None:
    kept = [name, *(each for each in _listed(environment) if each != name)][:KEPT_RELEASES]
    layout.write_file(environment / LIST, "".join(f"{each}\n" for each in kept).encode())


def _hidden(release: Path) -> Path:
    """Out of sight in one step; who has a file of it open may read on."""
    if release.name.startswith("."):
        return release
    doomed = layout.fresh_name(release)
    with contextlib.suppress(FileNotFoundError):
        release.rename(doomed)
    return doomed
