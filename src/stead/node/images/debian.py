"""Installs the Debian packages of a recipe with mmdebstrap, from the mirror that apt uses on this machine."""

from collections.abc import Sequence
from pathlib import Path

from stead.node.images.recipe import ImageUnavailable, Recipe
from stead.node.images.tools import run_tool

_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_EXCLUDED = (
    *("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*"),
    *("/usr/share/bash-completion/*", "/usr/share/lintian/*", "/usr/share/gitweb/*"),
)


def install_debian(recipe: Recipe, root: Path) -> None:
    apt_options = ['Acquire::Check-Valid-Until "false"'] if recipe.accepts_expired_indexes else []
    run_tool(
        [
            *("mmdebstrap", "--quiet", "--mode=root", "--variant=essential", "--format=directory"),
            f"--include={','.join(recipe.debian)}",
            *(f"--aptopt={option}" for option in apt_options),
            *(f"--dpkgopt=path-exclude={pattern}" for pattern in _EXCLUDED),
            *(f"--dpkgopt={option}" for option in recipe.dpkg_options),
            *("", str(root), "-"),
        ],
        stdin=debian_sources(recipe.suites),
    )


def debian_sources(suites: Sequence[str] = ()) -> str:
    """The Debian sources of this machine, in the format of `sources.list`; with suites, these suites from the
    same mirror."""
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    output = run_tool(["apt-get", "indextargets", "--format", form, "Created-By: Packages", "Origin: Debian"])
    found: dict[tuple[str, str], list[str]] = {}
    for line in output.splitlines():
        address, suite, component = line.split()
        found.setdefault((address, suite), []).append(component)
    if not found:
        raise ImageUnavailable("apt knows no Debian sources; run apt-get update on a Debian")
    if suites:
        found = {(_address_of(suite, list(found)), suite): ["main"] for suite in suites}
    signed = f"[signed-by={_KEYS}] " if _KEYS.exists() else ""
    return "".join(
        f"deb {signed}{address} {suite} {' '.join(dict.fromkeys(components))}\n"
        for (address, suite), components in found.items()
    )


def _address_of(suite: str, known: Sequence[tuple[str, str]]) -> str:
    """Security updates have their own archive, whose address may be that of another server."""
    is_security = suite.endswith("-security")
    for address, other in known:
        if other.endswith("-security") == is_security:
            return address
    kind = "security updates" if is_security else "a release"
    raise ImageUnavailable(f"apt has no source for {kind} of Debian, which {suite} needs")
