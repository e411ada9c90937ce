"""Work as a step writes it has names of objects where a node needs addresses; here they are signed.

So an address is made at the moment somebody asks, lasts no longer than it must, and is in no row.
"""

from msgspec.structs import replace

from stead.control.platform.objects import Objects
from stead.protocol.commands import ArchiveSource, Build, EnsureEnvironment, EnsureRelease, Work

SECONDS = 45 * 60
"""Longer than a build may take."""


def addressed(work: Work, objects: Objects) -> Work:
    match work:
        case EnsureRelease():
            return _release(work, objects)
        case EnsureEnvironment(release=EnsureRelease() as release):
            return replace(work, release=_release(release, objects))
        case Build():
            return _build(work, objects)
    return work


def _release(work: EnsureRelease, objects: Objects) -> EnsureRelease:
    layers = [replace(each, url=objects.address_to_get(each.url, seconds=SECONDS)) for each in work.layers]
    return replace(work, layers=tuple(layers))


def _build(work: Build, objects: Objects) -> Build:
    source = work.source
    if isinstance(source, ArchiveSource) and source.ours:
        source = replace(source, url=objects.address_to_get(source.url, seconds=SECONDS))
    layer_url = objects.address_to_put(work.layer_url, seconds=SECONDS)
    return replace(work, source=source, layer_url=layer_url)
