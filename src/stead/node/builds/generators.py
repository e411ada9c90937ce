"""The generators that are recognized by the files of a project: how each of them builds, in which image, and
where it writes the site."""

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from stead.artifacts.refusals import printable
from stead.node.builds import trees
from stead.node.builds.failures import BuildFailed
from stead.node.builds.package_managers import Command

REQUIREMENTS = "requirements.txt"
VIRTUAL_ENVIRONMENT = "/work/home/venv"
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PINNED = re.compile(r"===?[ ]*[A-Za-z0-9]| @ ")


@dataclass(frozen=True)
class Generator:
    name: str
    title: str
    output: str
    """Where it writes the site, if its configuration does not say otherwise."""
    argv: tuple[str, ...]
    """The command that builds, for projects that have no script of their own."""
    image: str = "static"
    advice: str = ""
    """Why there may be no output."""


NEXT = Generator(
    "next",
    "Next.js",
    "out",
    ("next", "build"),
    advice='set output: "export" in the configuration of Next.js, so that it writes static files',
)
SVELTEKIT = Generator(
    "sveltekit",
    "SvelteKit",
    "build",
    ("vite", "build"),
    advice="use @sveltejs/adapter-static, so that SvelteKit writes static files",
)
ASTRO = Generator("astro", "Astro", "dist", ("astro", "build"))
ELEVENTY = Generator("eleventy", "Eleventy", "_site", ("eleventy",))
VITE = Generator("vite", "Vite", "dist", ("vite", "build"))
HUGO = Generator("hugo", "Hugo", "public", ("hugo",), "hugo")
JEKYLL = Generator("jekyll", "Jekyll", "_site", ("jekyll", "build"), "jekyll")
MKDOCS = Generator("mkdocs", "MkDocs", "site", ("mkdocs", "build"), "python")
ZENSICAL = Generator("zensical", "Zensical", "site", ("zensical", "build"), "python")

_OF_PACKAGES = {
    "next": NEXT,
    "@sveltejs/kit": SVELTEKIT,
    "astro": ASTRO,
    "@11ty/eleventy": ELEVENTY,
    "vite": VITE,
}
"""In this order: projects of most of them have Vite, too."""
_OF_FILES = {
    **dict.fromkeys(("hugo.toml", "hugo.yaml", "hugo.yml", "hugo.json"), HUGO),
    **dict.fromkeys(("_config.yml", "_config.yaml", "_config.toml"), JEKYLL),
    "zensical.toml": ZENSICAL,
    **dict.fromkeys(("mkdocs.yml", "mkdocs.yaml"), MKDOCS),
}
_OLD_HUGO = ("config.toml", "config.yaml", "config.json")
"""Other programs have files with these names, too."""

GENERATORS = {each.name: each for each in (*_OF_PACKAGES.values(), *_OF_FILES.values())}
NONE = "none"
NAMES = (*GENERATORS, NONE)


def find_by_packages(packages: Collection[str]) -> Generator | None:
    return next((generator for name, generator in _OF_PACKAGES.items() if name in packages), None)


def find_by_files(root: Path) -> Generator | None:
    found = next((each for name, each in _OF_FILES.items() if os.path.lexists(root / name)), None)
    if found is None and any(os.path.lexists(root / name) for name in _OLD_HUGO):
        found = HUGO if any((root / name).is_dir() for name in ("archetypes", "content")) else None
    if found is MKDOCS and "zensical" in read_requirements(root):
        return ZENSICAL
    return found


def named(name: str) -> Generator | None:
    """The one that `stead.json` names."""
    if name == NONE:
        return None
    if name not in GENERATORS:
        raise BuildFailed(f"stead.json names the generator {printable(name)}: use one of {', '.join(NAMES)}")
    return GENERATORS[name]


def read_requirements(root: Path) -> set[str]:
    """The packages in `requirements.txt`, in lower case. Each must have an exact version, because a build
    must use the tested ones."""
    content = (trees.read_file(root, REQUIREMENTS) or b"").decode(errors="replace")
    found = set()
    for line in content.replace("\\\n", " ").splitlines():
        text = line.partition(" #")[0].strip()
        if not text or text.startswith(("#", "-")):
            continue
        name = _REQUIREMENT.match(text)
        if name is None or _PINNED.search(text) is None:
            raise BuildFailed(
                f"{REQUIREMENTS} has {printable(text[:80])} without an exact version: write for example"
                " mkdocs==1.6.1, or let pip freeze write the file"
            )
        found.add(name[0].lower())
    return found


def python_commands(root: Path, directory: str, generator: Generator) -> tuple[Command, ...]:
    """The commands that install the packages of `requirements.txt`. Without it, MkDocs is the one of the
    image."""
    if not os.path.lexists(root / REQUIREMENTS):
        if generator is ZENSICAL:
            raise BuildFailed(f"there is no {REQUIREMENTS}: commit one with the version of zensical")
        return ()
    read_requirements(root)
    create = ("python3", "-m", "venv", VIRTUAL_ENVIRONMENT)
    install = ("pip", "install", "--requirement", REQUIREMENTS)
    return tuple(Command(argv, " ".join(argv), directory) for argv in (create, install))
