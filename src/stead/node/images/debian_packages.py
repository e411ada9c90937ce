"""The Debian packages of an image, compared with the versions that were last reviewed.

`reviewed/<image>.txt` lists them. A Debian mirror keeps only the newest version of a package, so an exact
version could not be installed any more after the next security update. The archive is signed, and an image
never has an older version than the reviewed one: a mirror that is out of date is refused.
"""

import subprocess
from functools import cache
from pathlib import Path

from stead.node.images.recipe import ImageUnavailable

REVIEWED = Path(__file__).with_name("reviewed")

Versions = dict[str, str]


@cache
def reviewed_versions(name: str) -> Versions:
    return dict(line.split() for line in (REVIEWED / f"{name}.txt").read_text().splitlines())


def installed_versions(root: Path) -> Versions:
    """The packages of a root file system, from the database of dpkg."""
    found: Versions = {}
    for record in (root / "var/lib/dpkg/status").read_text().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in record.splitlines() if ": " in line)
        if fields.get("Status") == "install ok installed":
            found[fields["Package"]] = fields["Version"]
    return found


def refuse_older(name: str, installed: Versions) -> None:
    """Raise ImageUnavailable if a package is older than its version in the reviewed image of this name."""
    older = [
        f"{package} {version} (reviewed: {reviewed})"
        for package, reviewed in reviewed_versions(name).items()
        if (version := installed.get(package)) is not None and _is_older(version, reviewed)
    ]
    if older:
        raise ImageUnavailable(f"the Debian sources are out of date: {', '.join(older)}")


def _is_older(version: str, reviewed: str) -> bool:
    if version == reviewed:
        return False
    compared = subprocess.run(
        ["dpkg", "--compare-versions", version, "lt", reviewed],  # noqa: S607
        check=False,
    )
    return compared.returncode == 0
