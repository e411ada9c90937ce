"""Where the parts of a WordPress release are. The builder writes it to the top of the release, and the node
reads it when it runs the release."""

from pathlib import Path

import msgspec

from stead.node.containers.limits import ContainerFailed

FILE = "stead-release.json"
UPLOADS = "uploads"
_MAX_BYTES = 4096


class ReleaseLayout(msgspec.Struct, frozen=True, omit_defaults=True):
    """Paths are relative to the release."""

    content: str = "wp-content"
    """The directory with plugins and themes. It has an empty directory `uploads`."""
    autoloader: str = ""
    """The autoloader of Composer, which is loaded before WordPress."""
    stylesheet: str = ""
    """The theme that is used when the release does not have the active one."""
    template: str = ""
    """The parent of that theme, or the theme itself."""


def read_layout(release: Path) -> ReleaseLayout:
    """Releases contain no links, so only the paths are checked."""
    try:
        with (release / FILE).open("rb") as file:
            layout = msgspec.json.decode(file.read(_MAX_BYTES), type=ReleaseLayout)
    except FileNotFoundError:
        raise ContainerFailed("its release is missing") from None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise ContainerFailed("its release does not say what it contains") from None
    for path in (layout.content, layout.autoloader):
        if path.startswith("/") or ".." in path.split("/"):
            raise ContainerFailed("its release names a path outside of it")
    if not (release / layout.content / UPLOADS).is_dir():
        raise ContainerFailed("its release has no place for uploads")
    return layout
