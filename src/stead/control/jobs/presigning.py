"""Replaces object keys in the work of a node command by presigned URLs, and sealed deploy keys by plain ones.

This happens when the command is sent, so that URLs and keys are never stored and are valid only as long as
needed.
"""

import base64

from msgspec.structs import replace

from stead.control.engines.object_store import ObjectStore
from stead.control.sealing import Sealer
from stead.protocol.work import ArchiveSource, Build, EnsureEnvironment, EnsureRelease, GitSource, Work

SECONDS = 45 * 60
"""Longer than the time limit of a build."""


def presign_urls(work: Work, objects: ObjectStore) -> Work:
    match work:
        case EnsureRelease():
            return _presign_release(work, objects)
        case EnsureEnvironment(release=EnsureRelease() as release):
            return replace(work, release=_presign_release(release, objects))
        case Build():
            return _presign_build(work, objects)
    return work


def deploy_key_context(site: str) -> bytes:
    """The sealing context of the private deploy key of a site."""
    return f"deploy key of {site}".encode()


def unseal_deploy_key(work: Work, sealer: Sealer, site: str) -> Work:
    """The deploy key in the source of a build stays sealed until the command is sent."""
    if not isinstance(work, Build) or not isinstance(work.source, GitSource) or not work.source.key:
        return work
    key = sealer.open(base64.b64decode(work.source.key), context=deploy_key_context(site))
    return replace(work, source=replace(work.source, key=key.decode()))


def _presign_release(work: EnsureRelease, objects: ObjectStore) -> EnsureRelease:
    layers = [replace(each, url=objects.presigned_get_url(each.url, seconds=SECONDS)) for each in work.layers]
    return replace(work, layers=tuple(layers))


def _presign_build(work: Build, objects: ObjectStore) -> Build:
    source = work.source
    if isinstance(source, ArchiveSource) and source.ours:
        source = replace(source, url=objects.presigned_get_url(source.url, seconds=SECONDS))
    layer_url = objects.presigned_put_url(work.layer_url, seconds=SECONDS)
    return replace(work, source=source, layer_url=layer_url)
