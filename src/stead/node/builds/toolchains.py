"""What a project runs with: the image of its generator, its version of Node.js, and where its packages come
from. An image may be made while the agent runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import structlog

from stead.node.builds.failures import BuildFailed
from stead.node.builds.generators import VIRTUAL_ENVIRONMENT
from stead.node.builds.node_versions import DEFAULT
from stead.node.builds.sandbox import CA_CERTIFICATES, ENVIRONMENT, Sandbox
from stead.node.containers.bundle import BindMount
from stead.node.containers.egress_rules import HostRule
from stead.node.images.image_store import Image, ImageStore
from stead.node.images.recipe import ImageUnavailable
from stead.node.images.recipes import NODE

log = structlog.get_logger()


@dataclass(frozen=True)
class Toolchain:
    sandbox: Sandbox
    mounts: tuple[BindMount, ...] = ()
    hosts: tuple[HostRule, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PythonIndex:
    """Where pip downloads packages."""

    url: str
    files: tuple[HostRule, ...]

    @property
    def hosts(self) -> tuple[HostRule, ...]:
        parts = urlsplit(self.url)
        port = parts.port or (80 if parts.scheme == "http" else 443)
        return HostRule((parts.hostname or "").lower(), port, any_address=True), *self.files

    @property
    def environment(self) -> dict[str, str]:
        plain = urlsplit(self.url).scheme == "http"
        return {
            "PATH": f"{VIRTUAL_ENVIRONMENT}/bin:{ENVIRONMENT['PATH']}",
            "PIP_CERT": CA_CERTIFICATES,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_INDEX_URL": self.url,
            "PIP_NO_CACHE_DIR": "1",
            "PIP_NO_INPUT": "1",
            "PIP_PROGRESS_BAR": "off",
            # Only of the operator's own index.
            **({"PIP_TRUSTED_HOST": urlsplit(self.url).netloc} if plain else {}),
        }


class MakeSandbox(Protocol):
    def __call__(self, root: Path) -> Sandbox: ...


class Toolchains:
    def __init__(self, images: ImageStore, make_sandbox: MakeSandbox, python: PythonIndex) -> None:
        self._images, self._make_sandbox, self._python = images, make_sandbox, python
        self._found: dict[str, Image] = {}

    def choose(self, usual: Sandbox, image: str, node: str) -> Toolchain:
        """`usual` is the sandbox of the image `static`. Raises BuildFailed if the node lacks an image."""
        if image != "static":
            sandbox = self._make_sandbox(self._find(image).root)
            python = image == "python"
            environment = self._python.environment if python else _ENVIRONMENTS.get(image, {})
            return Toolchain(sandbox, (), self._python.hosts if python else (), environment)
        if node == DEFAULT:
            return Toolchain(usual)
        program = self._find(f"node{node}").root / NODE.lstrip("/")
        return Toolchain(usual, (BindMount(program, NODE),))

    def _find(self, name: str) -> Image:
        if name not in self._found:
            try:
                image = self._images.find(name)
                self._images.lock(image)
            except ImageUnavailable as unavailable:
                log.warning("builds.image_unavailable", image=name, reason=str(unavailable))
                raise BuildFailed(f"this node does not have the image {name}; ask the operator") from None
            self._found[name] = image
        return self._found[name]


_ENVIRONMENTS: Mapping[str, Mapping[str, str]] = {
    "hugo": {"HUGO_CACHEDIR": "/work/home/hugo", "HUGO_ENVIRONMENT": "production"},
    # The gems of a Gemfile are not installed.
    "jekyll": {"JEKYLL_ENV": "production", "JEKYLL_NO_BUNDLER_REQUIRE": "true"},
}
