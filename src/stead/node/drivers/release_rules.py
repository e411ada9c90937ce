"""The compiled rules of static releases, where the edge reads them: `release-rules/<release>.json`.

They are beside the releases and not in them, so no artifact can contain compiled rules of its own.
"""

from collections.abc import Collection
from pathlib import Path

from stead.artifacts.site_rules.compiler import compile_rules, read_rules
from stead.node.drivers import layout


class ReleaseRules:
    def __init__(self, data: Path) -> None:
        self._home = layout.release_rules(data)
        self._home.mkdir(parents=True, exist_ok=True)
        # The edge's workers run as another user, so the umask must not apply.
        self._home.chmod(0o755)

    def write(self, release: Path, name: str) -> None:
        """Compile the rules of a complete release, before it has its name. Blocks."""
        compiled = compile_rules(read_rules(release))
        if compiled is not None:
            layout.write_file(self._path(name), compiled)
            self._path(name).chmod(0o644)

    def write_missing(self, release: Path, name: str) -> None:
        """For a release that an earlier version of the node has unpacked. Blocks."""
        if not self._path(name).exists():
            self.write(release, name)

    def remove(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def remove_others(self, kept: Collection[str]) -> None:
        """Remove the rules of releases that are not here, after an interrupted start or removal. Blocks."""
        for path in self._home.iterdir():
            if path.name.removesuffix(".json") not in kept:
                path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._home / f"{name}.json"
