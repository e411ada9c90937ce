"""How much of the disk of a node the versions of a site take: modules, and what they were compiled to."""

from collections.abc import Collection
from pathlib import Path

from stead.node.functions import places
from stead.node.functions.spec import FunctionSpec

MAX_BYTES_OF_SITE = 1 << 30


class ShareExceeded(Exception):
    """What is served is too large, even without all earlier versions."""


def choose_discarded(data: Path, specs: Collection[FunctionSpec], new: FunctionSpec) -> list[str]:
    """Which earlier versions of a site have to go, the oldest first, so that a new one has room. The version
    that the new one replaces stays: edges may still send requests to it. Raises ShareExceeded."""
    own = [spec for spec in specs if spec.site == new.site]
    sizes = {spec.version: _measure(data, spec) for spec in own}
    excess = sum(sizes.values()) - MAX_BYTES_OF_SITE
    earlier = sorted((spec for spec in own if not spec.active), key=lambda spec: spec.deployed)
    replaced = [spec.version for spec in earlier if spec.function == new.function][-2:]
    discarded = []
    for spec in earlier:
        if excess <= 0:
            break
        if spec.version != new.version and spec.version not in replaced:
            discarded.append(spec.version)
            excess -= sizes[spec.version]
    if excess > 0:
        raise ShareExceeded
    return discarded


def _measure(data: Path, spec: FunctionSpec) -> int:
    files = (places.compiled(data, spec.version), places.module_file(data, spec.release))
    return sum(file.stat().st_size for file in files if file.exists())
