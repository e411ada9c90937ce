"""Profiles and links: which installation, which key, which site.

A flag wins over a variable (`STEAD_API_KEY`, `STEAD_BASE_URL`, `STEAD_SITE`, `STEAD_ENV`, `STEAD_PROFILE`),
that over the link of the folder (`.stead/project.json`), and that over the profile.
"""

import json
import os
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


def write_profiles(profiles: dict[str, dict[str, str]]) -> None:
    """Only the owner can read the file: it contains keys. It is replaced as a whole."""
    lines = ["# Profiles of the program `stead`.\n"]
    for name, values in sorted(profiles.items()):
        lines.append(f"\n[profiles.{json.dumps(name)}]\n")
        lines += [f"{key} = {json.dumps(value)}\n" for key, value in sorted(values.items())]
    file = config_file()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = file.with_name(f".{file.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as opened:
            opened.write("".join(lines))
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def profile_name(given: str | None) -> str:
    return given or os.environ.get("STEAD_PROFILE") or DEFAULT_PROFILE


def find_link(start: Path | None = None) -> tuple[Path, dict[str, Any]] | None:
    """The nearest linked folder and its link."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        file = folder / _LINK
        if file.is_file():
            try:
                found = json.loads(file.read_text())
            except ValueError:
                found = None
            if not isinstance(found, dict):
                raise CliError(f"{file} cannot be read.", fix="Link the folder again with `stead link`.")
            return folder, found
    return None


def write_link(folder: Path, link: dict[str, str]) -> Path:
    """The link contains no secret. It is not for the repository: others have other sites."""
    file, ignored = folder / _LINK, folder / ".gitignore"
    if any(each.is_symlink() for each in (file.parent, file, ignored)):
        raise CliError(f"{file.parent} or {ignored} is a symbolic link.", fix="Replace it with a real one.")
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(link, indent=2) + "\n")
    lines = ignored.read_text().splitlines() if ignored.is_file() else []
    if (folder / ".git").exists() and not {".stead", ".stead/", "/.stead", "/.stead/"} & {*lines}:
        ends = not lines or ignored.read_text().endswith("\n")
        with ignored.open("a") as opened:
            opened.write(".stead/\n" if ends else "\n.stead/\n")
    return file


def remove_link(folder: Path) -> None:
    (folder / _LINK).unlink(missing_ok=True)
