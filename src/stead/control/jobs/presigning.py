"""Work as a step writes it has names of objects where a node needs addresses; here they are signed.

So an address is made at the moment somebody asks, lasts no longer than it must, and is in no row.
"""

import base64

from msgspec.structs import replace

from stead.control.engines.object_store import ObjectStore
from stead.control.sealing import Sealer
from stead.protocol.work import ArchiveSource, Build, EnsureEnvironment, EnsureRelease, GitSource, Work

SECONDS = 45 * 60
"""Longer than a build may take."""


def addressed(work: Work, objects: ObjectStore) -> Work:
    match work:
        case EnsureRelease():
            return _release(work, objects)
        case EnsureEnvironment(release=EnsureRelease() as release):
            return replace(work, release=_release(release, objects))
        case Build():
            return _build(work, objects)
    return work


def deploy_key_context(site: str) -> bytes:
    """What the private key of a site is sealed for."""
    return f"deploy key of {site}".encode()


def with_key(work: Work, sealer: Sealer, site: str) -> Work:
    """A build's source carries its key sealed until a node is really asked."""
    if not isinstance(work, Build) or not isinstance(work.source, GitSource) or not work.source.key:
        return work
    key = sealer.open(base64.b64decode(work.source.key), context=deploy_key_context(site))
    return replace(work, source=replace(work.source, key=key.decode()))


def _release(work: EnsureRelease, objects: ObjectStore) -> EnsureRelease:
    layers = [replace(each, url=objects.presigned_get_url(each.url, seconds=SECONDS)) for each in work.layers]
    return replace(work, layers=tuple(layers))


def _build(work: Build, objects: ObjectStore) -> Build:
    source = work.source
    if isinstance(source, ArchiveSource) and source.ours:
        source = replace(source, url=objects.presigned_get_url(source.url, seconds=SECONDS))
    layer_url = objects.presigned_put_url(work.layer_url, seconds=SECONDS)
    return replace(work, source=source, layer_url=layer_url)
