"""Which test files reach a changed file: through imports, through a feature's folder, or by reading it."""

from collections.abc import Collection
from pathlib import Path, PurePath

import grimp

from tests.selection.history import ROOT

PACKAGES = ("stead", "tests", "bench")
CONTROL = PurePath("src/stead/control")
TESTS_OF_CONTROL = PurePath("tests/control")

DOCUMENTS = (
    "tests/architecture",
    "tests/contract",
    "tests/control/webhooks/test_interoperability.py",
    "tests/dev/test_declarations.py",
    "tests/dev/test_readme.py",
    "tests/docs",
    "tests/matrix/test_architecture.py",
)
READ_BY_TESTS = {
    "docs": DOCUMENTS,
    "openapi": DOCUMENTS,
    "README.md": DOCUMENTS,
    "CONTRIBUTING.md": DOCUMENTS,
    "CHANGELOG.md": (),
    "LICENSE": (),
    "web": ("tests/control/http",),
}
"""Files outside the packages, and the tests that read them. Any other file may affect every test."""


class Reach:
    """`everything` is the first changed file that may affect every test, if there is one."""

    def __init__(self, files: Collection[str], root: Path = ROOT) -> None:
        self._root = root
        self._paths = [PurePath(file) for file in sorted(files)]
        self.everything = next((str(path) for path in self._paths if self._affects_everything(path)), None)
        self.features = frozenset(feature for path in self._paths if (feature := feature_of(path)))
        self._graph = grimp.build_graph(*PACKAGES, cache_dir=None)
        changed = {module for path in self._paths for module in self._modules_of(path)}
        self._affected = set(changed)
        for module in changed & self._graph.modules:
            self._affected |= self._graph.find_downstream_modules(module)

    def includes(self, test_file: str) -> bool:
        if self.everything is not None:
            return True
        path = PurePath(test_file)
        if feature_of(path) in self.features:
            return True
        if any(path.is_relative_to(reader) for file in self._paths for reader in _readers_of(file)):
            return True
        package = module_of(path).split(".")
        conftests = (".".join([*package[:depth], "conftest"]) for depth in range(1, len(package)))
        return any(module in self._affected for module in (module_of(path), *conftests))

    def affects(self, module: str) -> bool:
        if self.everything is not None or module in self._affected:
            return True
        return feature_of(PurePath("src", *module.split("."))) in self.features

    def _affects_everything(self, path: PurePath) -> bool:
        return path.parts[0] not in READ_BY_TESTS and package_of(path) is None

    def _modules_of(self, path: PurePath) -> set[str]:
        """A file that is not Python, such as a template, belongs to every module of its package."""
        if package_of(path) is None:
            return set()
        if path.suffix == ".py":
            return {module_of(path)}
        folder = path.parent
        while folder.parts[-1:] and not (self._root / folder / "__init__.py").exists():
            folder = folder.parent
        package = module_of(folder)
        return {each for each in self._graph.modules if each == package or each.startswith(f"{package}.")}


def package_of(path: PurePath) -> str | None:
    below = path.relative_to("src") if path.is_relative_to("src") else path
    return below.parts[0] if below.parts[0] in PACKAGES else None


def module_of(path: PurePath) -> str:
    below = path.relative_to("src") if path.is_relative_to("src") else path
    parts = below.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def feature_of(path: PurePath) -> str | None:
    """The feature of the control plane whose folder, or whose tests' folder, contains the file."""
    for folder in (CONTROL, TESTS_OF_CONTROL):
        if path.is_relative_to(folder) and len(path.relative_to(folder).parts) > 1:
            return path.relative_to(folder).parts[0]
    return None


def _readers_of(path: PurePath) -> tuple[str, ...]:
    return READ_BY_TESTS.get(path.parts[0], ())
