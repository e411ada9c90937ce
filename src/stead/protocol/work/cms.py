"""Work that changes plugins, themes and content of WordPress, and exports its database."""

from typing import Literal

from msgspec import Struct

from stead.protocol.work.base import Amount, RuntimeWork, WorkStruct

ComponentAction = Literal["install", "update", "activate", "deactivate", "delete"]


class AffectedVersions(Struct, frozen=True):
    """A range of versions that have a known vulnerability. Its ends are keys (`component_versions.py`)."""

    title: str
    from_key: bytes
    from_inclusive: bool
    to_key: bytes | None
    """None if all later versions are affected."""
    to_inclusive: bool
    fixed_version: str = ""

    def contains(self, key: bytes) -> bool:
        if key < self.from_key or (key == self.from_key and not self.from_inclusive):
            return False
        return self.to_key is None or key < self.to_key or (self.to_inclusive and key == self.to_key)


class ComponentChange(WorkStruct, frozen=True):
    action: ComponentAction
    kind: Literal["plugin", "theme"]
    slug: str
    version: str = ""
    """Of an installation or update; the latest one if empty."""
    archive: str = ""
    """A signed URL of the archive. If empty, the archive comes from the registry."""
    activate: bool = False
    refused: tuple[AffectedVersions, ...] = ()
    """Versions that are not installed."""


class ComponentOutcome(Struct, frozen=True):
    slug: str
    reason: str = ""
    """Why it was not changed; empty if it was."""


class ComponentsChanged(Struct, frozen=True, tag="components_changed"):
    outcomes: tuple[ComponentOutcome, ...] = ()


class ChangeComponents(RuntimeWork, frozen=True, tag="change_components"):
    """The plugins and themes of the environment are changed, one after the other. After a change that stops
    the site from answering, the component is what it was before. The work is refused if no change is made."""

    result_type = ComponentsChanged
    has_own_limit = True

    changes: tuple[ComponentChange, ...]
    host: str = ""
    """Of the site, for the probe."""


class SiteChange(WorkStruct, frozen=True):
    kind: str
    """As in a question to the site (`questions.py`)."""
    body: bytes


class ChangeContent(RuntimeWork, frozen=True, tag="change_content"):
    """The site has been asked to make these changes, one after the other. It is refused if none is made."""

    has_own_limit = True

    changes: tuple[SiteChange, ...]


class DatabaseExported(Struct, frozen=True, tag="database_exported"):
    size: Amount


class ExportDatabase(RuntimeWork, frozen=True, tag="export_database"):
    """A dump of the database, or the result of a statement, is in the object store."""

    result_type = DatabaseExported
    has_own_limit = True

    url: str
    """A signed URL to upload to."""
    tables: tuple[str, ...] = ()
    """All if empty."""
    compress: bool = True
    statement: bytes = b""
    """As in the question `database.query`. If empty, tables are exported."""
