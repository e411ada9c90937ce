"""Which version of WordPress, plugins and themes a site has, read from its files as WordPress reads them."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from stead.node.scanning.paths import FileTooLarge, hash_file, open_directory, to_text
from stead.protocol.work import Component, ComponentType

MAX_COMPONENTS = 500
MAX_NAMES = 2000
"""Of a directory that are looked at."""
DROP_INS = frozenset(
    {
        *(b"advanced-cache.php", b"blog-deleted.php", b"blog-inactive.php", b"blog-suspended.php", b"db.php"),
        *(b"db-error.php", b"fatal-error-handler.php", b"install.php", b"maintenance.php"),
        *(b"object-cache.php", b"php-error.php", b"sunrise.php"),
    }
)
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_HEADER_BYTES = 8192
_MAX_TEXT = 200
_CORE_VERSION = re.compile(rb"\$wp_version\s*=\s*'([^'\n]{1,40})'")


def list_components(content: Path, core: Path) -> list[Component]:
    """Blocks. `content` is `wp-content`, `core` the directory of WordPress itself."""
    found = [*_core(core), *_plugins(content), *_themes(content)]
    return found[:MAX_COMPONENTS]


def list_loaded_files(content: Path) -> dict[str, str]:
    """The paths and hashes of what WordPress loads without being asked: drop-ins and must-use plugins. Nobody
    sees them in the list of plugins, so attackers like them. Blocks."""
    found: dict[str, str] = {}
    for folder, prefix in ((b".", "wp-content"), (b"mu-plugins", "wp-content/mu-plugins")):
        with _entries(content, folder) as (directory, names):
            for name in names:
                if name in DROP_INS if folder == b"." else name.endswith(b".php"):
                    digest = _hash(directory, name)
                    if digest:
                        found[f"{prefix}/{to_text(name)}"] = digest
    return found


def _hash(directory: int, name: bytes) -> str:
    """Empty if it is no file. One that is too large to be read counts as one without content."""
    with suppress(OSError):
        descriptor = os.open(name, _FILE, dir_fd=directory)
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                try:
                    return hash_file(file)
                except FileTooLarge:
                    return hashlib.sha256().hexdigest()
    return ""


def _core(core: Path) -> Iterator[Component]:
    with suppress(OSError):
        text = (core / "wp-includes" / "version.php").read_bytes()[:_HEADER_BYTES]
        found = _CORE_VERSION.search(text)
        yield Component("core", "wordpress", "WordPress", found[1].decode("latin-1") if found else "")


def _plugins(content: Path) -> Iterator[Component]:
    """The slug is the name of the directory, or of the file without `.php` for one in a single file."""
    with _entries(content, b"plugins") as (directory, names):
        for name in names:
            if name.endswith(b".php"):
                if header := _read_header(directory, name, "Plugin Name"):
                    yield _component("plugin", name.removesuffix(b".php"), header)
                continue
            with suppress(OSError):
                below = open_directory(name, directory)
                try:
                    yield from _plugin_in(below, name)
                finally:
                    os.close(below)


def _plugin_in(directory: int, slug: bytes) -> Iterator[Component]:
    files = [each for each in _names(directory) if each.endswith(b".php")]
    for file in files[:200]:
        if header := _read_header(directory, file, "Plugin Name"):
            yield _component("plugin", slug, header)
            return


def _themes(content: Path) -> Iterator[Component]:
    with _entries(content, b"themes") as (directory, names):
        for name in names:
            with suppress(OSError):
                below = open_directory(name, directory)
                try:
                    if header := _read_header(below, b"style.css", "Theme Name"):
                        yield _component("theme", name, header)
                finally:
                    os.close(below)


@contextmanager
def _entries(content: Path, name: bytes) -> Iterator[tuple[int, list[bytes]]]:
    try:
        top = open_directory(content)
    except OSError:
        yield -1, []
        return
    try:
        directory = open_directory(name, top)
    except OSError:
        yield -1, []
        return
    finally:
        os.close(top)
    try:
        yield directory, _names(directory)
    finally:
        os.close(directory)


def _names(directory: int) -> list[bytes]:
    """Hard links make more names than there is memory."""
    with os.scandir(directory) as found:
        return sorted(os.fsencode(each.name) for each in islice(found, MAX_NAMES))


def _read_header(directory: int, name: bytes, wanted: str) -> dict[str, str] | None:
    """The comment at the beginning of a plugin or theme; None if it is not there."""
    try:
        descriptor = os.open(name, _FILE, dir_fd=directory)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        text = file.read(_HEADER_BYTES).decode(errors="replace").replace("\r", "\n")
    fields = {}
    for field in (wanted, "Version"):
        if found := re.search(
            rf"^(?:[ \t]*<\?php)?[ \t/*#@]*{field}:(.{{0,400}})$", text, re.MULTILINE | re.IGNORECASE
        ):
            fields[field] = re.sub(r"\s*(?:\*/|\?>).*", "", found[1]).strip()[:_MAX_TEXT]
    return {"name": fields[wanted], "version": fields.get("Version", "")} if fields.get(wanted) else None


def _component(kind: ComponentType, slug: bytes, header: dict[str, str]) -> Component:
    plain = {name: "".join(each for each in text if each.isprintable()) for name, text in header.items()}
    return Component(kind, to_text(slug)[:_MAX_TEXT].lower(), plain["name"], plain["version"][:40])
