"""What a project of WordPress consists of: where its plugins and themes are, whether Composer has to run, and
what of it becomes the release. WordPress itself belongs to the platform and is left out."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from stead.artifacts.refusals import printable
from stead.node.builds import projects, trees
from stead.node.builds.failures import BuildFailed
from stead.node.wordpress.release_layout import FILE, UPLOADS, ReleaseLayout

CODE = ("plugins", "themes", "mu-plugins")
CONTENT_CONVENTIONS = (
    *("wp-content", "web/app", "web/wp-content", "public/app", "public/wp-content", "public/content"),
    *("htdocs/wp-content", "wordpress/wp-content"),
)
_CORE_FOLDERS = ("wp-admin", "wp-includes")
_CORE_FILES = re.compile(r"wp-[a-z-]+\.php|index\.php|xmlrpc\.php|license\.txt|readme\.html")
_CORE_DEPTH = 2
_INSTALLED = re.compile(r"(.+)/(?:plugins|themes|mu-plugins)/")
_PLATFORM_PACKAGE = re.compile(r"php(-.+)?|hhvm|(ext|lib)-.+|composer(-.+)?")
_HEADER_BYTES = 1 << 20
_TEMPLATE = re.compile(rb"^[ \t/*#@]*Template:(.*)$", re.IGNORECASE | re.MULTILINE)
_THEME_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class _Extra(msgspec.Struct, frozen=True):
    installer_paths: dict[str, msgspec.Raw] = msgspec.field(name="installer-paths", default={})


class _Config(msgspec.Struct, frozen=True):
    vendor_dir: str = msgspec.field(name="vendor-dir", default="vendor")


class ComposerProject(msgspec.Struct, frozen=True):
    """The fields of `composer.json` that matter here."""

    require: dict[str, str] = {}
    extra: _Extra = _Extra()
    config: _Config = _Config()

    @property
    def needs_packages(self) -> bool:
        return any(_PLATFORM_PACKAGE.fullmatch(name) is None for name in self.require)


@dataclass(frozen=True)
class WordPressProject:
    content: str
    """Empty: look for a directory with a conventional name."""
    composer: ComposerProject | None
    install: bool
    """Whether Composer has to run."""


def plan_build(root: Path) -> WordPressProject:
    settings = projects.read_json(root, "stead.json", projects.ProjectSettings) or projects.ProjectSettings()
    composer = projects.read_json(root, "composer.json", ComposerProject)
    if composer is None:
        return WordPressProject(settings.output, None, install=False)
    locked = trees.read_file(root, "composer.lock", max_bytes=64 << 20) is not None
    if composer.needs_packages and not locked:
        raise BuildFailed(
            "composer.json has dependencies and no lock file: run composer install and commit composer.lock"
        )
    return WordPressProject(settings.output, composer, install=locked)


@dataclass(frozen=True)
class MadeRelease:
    layout: ReleaseLayout
    left_out: tuple[str, ...]
    """What of the source is not in the release, in words for the customer."""


def make_release(root: Path, project: WordPressProject, release: Path) -> MadeRelease:
    """Move what becomes the release to a new directory. Call it after the build: no process of the build runs
    then, so the files cannot change any more."""
    content = _find_content(root, project)
    autoloader = _find_autoloader(root, project.composer)
    left_out = _remove_core(root, content)
    left_out += _empty_uploads(content)
    stylesheet, template = _choose_theme(content)
    release.mkdir(mode=0o755)
    if autoloader:
        # Composer's autoloader names files by their place in the project, so everything keeps its place.
        inside = "/".join(content.relative_to(root).parts)
        if not inside:
            raise BuildFailed("the project is its own wp-content; with Composer it must be a directory in it")
        for entry in sorted(root.iterdir()):
            if not entry.name.startswith(".") and entry.name not in ("node_modules", FILE):
                entry.rename(release / entry.name)
    else:
        inside = "wp-content"
        if project.composer is not None and project.composer.require:
            _keep_composer_files(root, release)
        content.rename(release / inside)
    layout = ReleaseLayout(inside, autoloader, stylesheet, template)
    (release / FILE).write_bytes(msgspec.json.encode(layout))
    return MadeRelease(layout, left_out)


def _keep_composer_files(root: Path, release: Path) -> None:
    """They say which versions of PHP the code is for."""
    for name in ("composer.json", "composer.lock"):
        content = trees.read_file(root, name, max_bytes=64 << 20)
        if content is not None:
            (release / name).write_bytes(content)


def _find_content(root: Path, project: WordPressProject) -> Path:
    if project.content:
        folder = trees.find_folder(root, project.content)
        if folder is None or not _has_code(folder):
            raise BuildFailed(
                f"{printable(project.content)}, which stead.json names, has no plugins, themes or mu-plugins"
            )
        return folder
    for name in (*_installer_targets(project.composer), *CONTENT_CONVENTIONS):
        folder = trees.find_folder(root, name)
        if folder is not None and _has_code(folder):
            return folder
    if _has_code(root):
        return root
    raise BuildFailed(
        "no WordPress code was found: none of "
        f"{', '.join(CONTENT_CONVENTIONS)} and the top directory contains plugins, themes or mu-plugins;"
        ' name your wp-content in stead.json, {"output": "…"}'
    )


def _installer_targets(composer: ComposerProject | None) -> list[str]:
    """Where Composer puts plugins and themes: `web/app/plugins/{$name}/` means `web/app`."""
    paths = composer.extra.installer_paths if composer else {}
    found = (_INSTALLED.match(path.removeprefix("./")) for path in paths)
    return list(dict.fromkeys(match[1] for match in found if match))


def _has_code(folder: Path) -> bool:
    return any(
        not (folder / name).is_symlink() and (folder / name).is_dir() and trees.has_files(folder / name)
        for name in CODE
    )


def _find_autoloader(root: Path, composer: ComposerProject | None) -> str:
    if composer is None:
        return ""
    name = PurePosixPath(composer.config.vendor_dir)
    folder = trees.find_folder(root, str(name))
    if folder is None or trees.read_file(folder, "autoload.php") is None:
        return ""
    return str(name / "autoload.php")


def _remove_core(root: Path, content: Path) -> tuple[str, ...]:
    """Remove WordPress itself, at the top or in a directory such as `web/wp`."""
    removed = []
    for folder in _find_core(root):
        kept = {content, *content.parents}
        for entry in folder.iterdir():
            own = entry.name in _CORE_FOLDERS or entry.name == "wp-content" or _is_core_file(entry)
            if own and entry not in kept:
                trees.remove(entry)
        where = "/".join(folder.relative_to(root).parts)
        removed.append(f"WordPress in {where or 'the top directory'}: the platform provides it")
    return tuple(removed)


def _find_core(root: Path) -> list[Path]:
    found, level = [], [root]
    for _ in range(_CORE_DEPTH + 1):
        found += [folder for folder in level if trees.find_folder(folder, "wp-includes") is not None]
        level = [
            entry
            for folder in level
            for entry in sorted(folder.iterdir())
            if entry.is_dir() and not entry.is_symlink()
        ]
    return [folder for folder in found if trees.read_file(folder / "wp-includes", "version.php") is not None]


def _is_core_file(entry: Path) -> bool:
    return not entry.is_dir() and _CORE_FILES.fullmatch(entry.name) is not None


def _empty_uploads(content: Path) -> tuple[str, ...]:
    """Uploads are not a part of the release: the directory is where those of the environment are mounted."""
    uploads = content / UPLOADS
    had_files = uploads.is_dir() and not uploads.is_symlink() and trees.has_files(uploads)
    trees.remove(uploads)
    uploads.mkdir(mode=0o755)
    return ("uploads: those of the environment are used",) if had_files else ()


def _choose_theme(content: Path) -> tuple[str, str]:
    """The theme to show if the active one is not in the release, and its parent: the first child theme, which
    is usually the site's own, or else the first theme."""
    folder = content / "themes"
    parents = _read_themes(folder) if trees.find_folder(content, "themes") is not None else {}
    complete = [name for name, parent in parents.items() if not parent or parent in parents]
    if not complete:
        raise BuildFailed(
            "there is no theme: put one into the directory themes, with its style.css, and with its parent"
            " theme if it has one"
        )
    chosen = next((name for name in complete if parents[name]), complete[0])
    return chosen, parents[chosen] or chosen


def _read_themes(folder: Path) -> dict[str, str]:
    """The names of the themes, in order, each with the name of its parent or nothing."""
    found = {}
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink() or not entry.is_dir() or _THEME_NAME.fullmatch(entry.name) is None:
            continue
        style = trees.read_file(entry, "style.css", max_bytes=_HEADER_BYTES * 16)
        if style is not None:
            named = _TEMPLATE.search(style[:_HEADER_BYTES])
            parent = named[1].strip(b" \t\r*/").decode(errors="replace") if named else ""
            found[entry.name] = parent if parent != entry.name else ""
    return found
