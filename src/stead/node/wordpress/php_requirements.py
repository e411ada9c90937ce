"""What the code of a site requires of PHP: its Composer packages, its plugins and its theme."""

from dataclasses import dataclass
from pathlib import Path

from stead.artifacts.refusals import printable
from stead.node.containers.bundle import BindMount
from stead.node.containers.runc import Runc
from stead.node.wordpress.plan import WordPressPlan
from stead.node.wordpress.script_container import run_script

SEMVER = "usr/share/php/Composer/Semver"
"""Composer's own comparison of versions, in the image `composer`."""
COMPOSER_FILES = ("composer.json", "composer.lock")
_REQUIRES, _UNKNOWN = "requires: ", "unknown: "


@dataclass(frozen=True)
class Unmet:
    """Requirements that a version of PHP does not fulfil."""

    lines: tuple[str, ...] = ()
    missing: str = ""
    """Why there may be more; empty if these are all."""


def has_composer_files(release: Path | None) -> bool:
    return release is not None and any((release / name).is_file() for name in COMPOSER_FILES)


async def list_unmet(plan: WordPressPlan, runc: Runc, composer: Path | None, *, plugins: bool) -> Unmet:
    """What the PHP of the plan does not fulfil. `composer` is the root of the image with Composer, for a site
    that uses it. With `plugins` the database is read."""
    wanted = [*(["composer"] if composer else []), *(["plugins"] if plugins else [])]
    mounts = (BindMount(composer / SEMVER, "/run/stead/semver"),) if composer else ()
    try:
        end = await run_script(plan, runc, "requirements.php", *wanted, mounts=mounts)
    except TimeoutError:
        return Unmet(missing="reading it took too long")
    lines = tuple(dict.fromkeys(_list_after(_REQUIRES, end.lines)))
    if "checked" in end.lines:
        return Unmet(lines)
    reasons = _list_after(_UNKNOWN, end.lines)
    return Unmet(lines, reasons[0] if reasons else f"PHP ended with {end.code}")


def _list_after(prefix: str, lines: tuple[str, ...]) -> list[str]:
    return [printable(line.removeprefix(prefix)) for line in lines if line.startswith(prefix)]
