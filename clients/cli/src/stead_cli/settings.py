"""Profiles and links: which installation, which key, which site.

A flag wins over a variable (`STEAD_API_KEY`, `STEAD_BASE_URL`, `STEAD_SITE`, `STEAD_ENV`, `STEAD_PROFILE`),
that over the link of the folder (`.stead/project.json`), and that over the profile.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stead_cli.failures import CliError

DEFAULT_PROFILE = "default"
_LINK = Path(".stead") / "project.json"


def config_file() -> Path:
    root = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(root) / "stead" / "config.toml"


def cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "stead"


def read_profiles() -> dict[str, dict[str, str]]:
    import tomllib

    try:
        with config_file().open("rb") as opened:
            found = tomllib.load(opened).get("profiles", {})
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        raise CliError(
            f"{config_file()} cannot be read: {error}", fix="Correct or remove the file."
        ) from None
    return {name: dict(values) for name, values in found.items() if isinstance(values, dict)}


@contextmanager
def changing_profiles() -> Iterator[dict[str, dict[str, str]]]:
    """The profiles, which are written at the end. Another program waits until then."""
    folder = config_file().parent
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.name != "posix":
        profiles = read_profiles()
        yield profiles
        _write_profiles(profiles)
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        profiles = read_profiles()
        yield profiles
        _write_profiles(profiles)
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


def find_link(start: Path | None = None) -> tuple[Path, dict[str, Any]] | None:
    """The nearest linked folder and its link. Those of other people, for example in `/tmp`, do not count."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        file = folder / _LINK
        if file.is_file() and _is_own(file):
            try:
                found = json.loads(file.read_text(encoding="utf-8"))
            except ValueError:
                found = None
            if not isinstance(found, dict):
                raise CliError(f"{file} cannot be read.", fix="Link the folder again with `stead link`.")
            return folder, found
    return None


def _is_own(file: Path) -> bool:
    return os.name != "posix" or file.stat().st_uid == os.getuid()


def write_link(folder: Path, link: dict[str, str]) -> Path:
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


def _must_be_ignored(folder: Path) -> bool:
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


def remove_link(folder: Path) -> None:
    (folder / _LINK).unlink(missing_ok=True)
