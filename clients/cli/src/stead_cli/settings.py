"""Profiles and links: which installation, which key, which site.

A flag wins over a variable (`STEAD_API_KEY`, `STEAD_BASE_URL`, `STEAD_SITE`, `STEAD_ENV`, `STEAD_PROFILE`),
that over the link of the folder (`.stead/project.json`), and that over the profile. Every command reads this,
so what takes long to import is imported by what needs it.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from stead_cli.failures import CliError

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_PROFILE = "default"
_LINK = os.path.join(".stead", "project.json")


def config_file() -> "Path":
    from pathlib import Path

    return Path(_config_path())


def _config_path() -> str:
    root = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(root, "stead", "config.toml")


def cache_folder() -> "Path":
    from pathlib import Path

    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "stead"


def read_profiles() -> dict[str, dict[str, str]]:
    path = _config_path()
    try:
        with open(path, "rb") as opened:
            text = opened.read()
    except FileNotFoundError:
        return {}
    import tomllib

    try:
        found = tomllib.loads(text.decode()).get("profiles", {})
    except ValueError as error:
        raise CliError(f"{path} cannot be read: {error}", fix="Correct or remove the file.") from None
    return {name: dict(values) for name, values in found.items() if isinstance(values, dict)}


@contextmanager
def changing_profiles() -> Iterator[dict[str, dict[str, str]]]:
    """The profiles, which are written at the end. Another program waits until then."""
    folder = os.path.dirname(_config_path())
    os.makedirs(folder, exist_ok=True, mode=0o700)
    with _locked(folder):
        profiles = read_profiles()
        yield profiles
        _write_profiles(profiles)


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    if os.name != "posix":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write_profiles(profiles: dict[str, dict[str, str]]) -> None:
    """Only the owner can read the file: it contains keys. It is replaced as a whole."""
    lines = ["# Profiles of the program `stead`.\n"]
    for name, values in sorted(profiles.items()):
        lines.append(f"\n[profiles.{_quoted(name)}]\n")
        lines += [f"{key} = {_quoted(value)}\n" for key, value in sorted(values.items())]
    file = config_file()
    new = file.with_name(f".{file.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write("".join(lines).encode("utf-8", "replace"))
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def _quoted(text: str) -> str:
    """As TOML: like JSON, but no character may be written as two surrogates."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def find_link(start: str | None = None) -> tuple[str, dict[str, Any]] | None:
    """The nearest linked folder and its link. Those of other people, for example in `/tmp`, do not count."""
    folder, before = os.path.realpath(start or os.getcwd()), ""
    while folder != before:
        file = os.path.join(folder, _LINK)
        if os.path.isfile(file) and _is_own(file):
            try:
                with open(file, encoding="utf-8") as opened:
                    found = json.load(opened)
            except ValueError:
                found = None
            if not isinstance(found, dict):
                raise CliError(f"{file} cannot be read.", fix="Link the folder again with `stead link`.")
            return folder, found
        folder, before = os.path.dirname(folder), folder
    return None


def _is_own(file: str) -> bool:
    return os.name != "posix" or os.stat(file).st_uid == os.getuid()


def write_link(folder: "Path", link: dict[str, str]) -> "Path":
    """The link contains no secret. It is not for the repository: others have other sites."""
    file, ignored = folder / _LINK, folder / ".gitignore"
    if any(each.is_symlink() for each in (file.parent, file, ignored)):
        raise CliError(f"{file.parent} or {ignored} is a symbolic link.", fix="Replace it with a real one.")
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(link, indent=2) + "\n", encoding="utf-8")
    if _must_be_ignored(folder.resolve()):
        # Another encoding than UTF-8 stays as it is.
        text = ignored.read_bytes() if ignored.is_file() else b""
        with ignored.open("ab") as opened:
            opened.write(b".stead/\n" if not text or text.endswith(b"\n") else b"\n.stead/\n")
    return file


def _must_be_ignored(folder: "Path") -> bool:
    """Whether the folder is in a repository of git, and no file says yet that the link is not for it."""
    names, is_ignored = {b".stead", b".stead/", b"/.stead", b"/.stead/"}, False
    for place in (folder, *folder.parents):
        ignored = place / ".gitignore"
        if ignored.is_file():
            is_ignored = is_ignored or bool(names & {*ignored.read_bytes().splitlines()})
        if (place / ".git").exists():
            return not is_ignored
        names -= {b"/.stead", b"/.stead/"}
    return False


def remove_link(folder: str) -> None:
    file = os.path.join(folder, _LINK)
    if os.path.exists(file):
        os.remove(file)
