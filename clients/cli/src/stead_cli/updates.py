"""Tells people once a day that there is another version of the program, or that their key ends soon. Nothing
is updated."""

import re
import time

from stead_cli import __version__, settings
from stead_cli.texts import write_notice
from stead_sdk import Stead, errors

DAY = 86_400.0
_WARNED_BEFORE = 7 * DAY
_VERSION = re.compile(r"\d{1,6}(?:\.\d{1,6}){1,3}")


def remind(client: Stead, key_expires_at: str | None = None) -> None:
    """Ask the installation which version it is made with. A failure is of no interest."""
    try:
        if not _is_due():
            return
        soon = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + _WARNED_BEFORE))
        if key_expires_at is not None and key_expires_at[:19] < soon:
            write_notice(f"\nYour key ends at {key_expires_at}. `stead login` makes a new one.")
        quick = client.with_options(max_retries=0, timeout=2)
        found = str(quick.request("GET", "/docs/clients.json").json()["cli"])
    except (OSError, ValueError, KeyError, TypeError, errors.SteadError):
        return
    if _VERSION.fullmatch(found) and _parts(found) > _parts(__version__):
        write_notice(
            f"\nstead {found} is available; this is {__version__}. For example: uv tool upgrade stead-cli"
            "\nSTEAD_NO_UPDATE_NOTICE=1 turns this notice off."
        )


def _is_due() -> bool:
    """At most once a day, whatever comes of it."""
    file, now = settings.cache_folder() / "looked-for-update", time.time()
    if file.exists() and 0 <= now - file.stat().st_mtime < DAY:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    return True


def _parts(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
