"""Which test files reach a changed file: through imports, through a feature's folder, or by reading it."""

from collections.abc import Collection
from functools import cache
from pathlib import Path, PurePath

import grimp

from tests.selection.history import LANDED, ROOT

PACKAGES = ("stead", "tests", "bench")
SOURCE = PurePath("src/stead")
CONTROL = SOURCE / "control"
TESTS_OF_CONTROL = PurePath("tests/control")

MOST = 0.5
"""The share of test files that counts as most of them."""

DOCUMENTS = (
    "tests/architecture",
    "tests/clients",
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
    "clients": (
        *("tests/clients", "tests/docs"),
        *("tests/journeys/test_python_client.py", "tests/journeys/test_stead_program.py"),
    ),
    "LICENSE": (),
    LANDED: (),
    "web": ("tests/control/http",),
}
"""Files outside the packages, and the tests that read them. Any other file may affect every test."""


class Reach:
    """`everything` is the first changed file that may affect every test, if there is one. A change is `broad`
    if it reaches most test files, and `sweeping` if most of them test a changed package."""

    def __init__(self, files: Collection[str], root: Path = ROOT) -> None:
        self._root = root
        self._paths = [PurePath(file) for file in sorted(files)]
        self.everything = next((str(path) for path in self._paths if self._affects_everything(path)), None)
        self._areas = frozenset(area_of(path) for path in self._paths if _supports_tests(path))
        self.features = frozenset(feature for path in self._paths if (feature := feature_of(path)))
        self._graph = _build_graph()
        changed = {module for path in self._paths for module in self._modules_of(path)}
        self._affected = set(changed)
        for module in changed & self._graph.modules:
            self._affected |= self._graph.find_downstream_modules(module)
        tests = list_test_files(root)
        self.broad = sum(map(self.includes, tests)) > len(tests) * MOST
        self.sweeping = sum(map(self.includes_directly, tests)) > len(tests) * MOST

    def includes(self, test_file: str) -> bool:
        if self.everything is not None:
            return True
        path = PurePath(test_file)
        if feature_of(path) in self.features:
            return True
        if any(path.is_relative_to(reader) for file in self._paths for reader in _readers_of(file) or ()):
            return True
        package = module_of(path).split(".")
        conftests = (".".join([*package[:depth], "conftest"]) for depth in range(1, len(package)))
        return any(module in self._affected for module in (module_of(path), *conftests))

    def has_changed(self, file: str) -> bool:
        return PurePath(file) in self._paths

    def includes_directly(self, test_file: str) -> bool:
        """Whether the test itself has changed, something in the package that its folder is named after, or
        what the tests in its folder share."""
        area = area_of(PurePath(test_file))
        return self.has_changed(test_file) or any(each.is_relative_to(area) for each in self._areas)

    def affects(self, module: str) -> bool:
        return self.everything is not None or module in self._affected or self.affects_directly(module)

    def affects_directly(self, module: str) -> bool:
        """Whether the feature of this module has changed."""
        return feature_of(PurePath("src", *module.split("."))) in self.features

    def _affects_everything(self, path: PurePath) -> bool:
        return _readers_of(path) is None and package_of(path) is None

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


@cache
def _build_graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def list_test_files(root: Path = ROOT) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.glob("tests/**/test_*.py"))


def package_of(path: PurePath) -> str | None:
    below = path.relative_to("src") if path.is_relative_to("src") else path
    return below.parts[0] if below.parts[0] in PACKAGES else None


def module_of(path: PurePath) -> str:
    below = path.relative_to("src") if path.is_relative_to("src") else path
    parts = below.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def source_of(module: str) -> str:
    return str(PurePath("src", *module.split(".")).with_suffix(".py"))


def area_of(path: PurePath) -> PurePath:
    """The package of a source file, or the one that the folder of a test is named after: `node/wordpress`."""
    return path.relative_to(SOURCE if path.is_relative_to(SOURCE) else path.parts[0]).parent


def _supports_tests(path: PurePath) -> bool:
    """Source that a folder of tests is about, or what the tests of a folder share."""
    if path.is_relative_to(SOURCE):
        return True
    return path.is_relative_to("tests") and not path.name.startswith("test_")


def feature_of(path: PurePath) -> str | None:
    """The feature of the control plane whose folder, or whose tests' folder, contains the file."""
    for folder in (CONTROL, TESTS_OF_CONTROL):
        if path.is_relative_to(folder) and len(path.relative_to(folder).parts) > 1:
            return path.relative_to(folder).parts[0]
    return None


def _readers_of(path: PurePath) -> tuple[str, ...] | None:
    return READ_BY_TESTS.get(str(path), READ_BY_TESTS.get(path.parts[0]))
