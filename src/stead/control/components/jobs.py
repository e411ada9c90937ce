"""The kinds of job that change plugins and themes."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind
from stead.protocol.work.cms import ComponentAction


class Change(Struct, frozen=True):
    action: ComponentAction
    kind: str
    slug: str
    version: str = ""
    upload: str = ""
    """The id of the upload that the archive is in; from the registry if empty."""
    activate: bool = False
    force: bool = False
    """Also a version that has a known vulnerability."""


class ComponentWork(Struct, frozen=True):
    environment: str
    changes: list[Change]


INSTALL = JobKind(
    "component.install",
    params=ComponentWork,
    resource="environment",
    lock="environment",
    limit=timedelta(minutes=30),
)
CHANGE = JobKind(
    "site.plugin_update",
    params=ComponentWork,
    resource="environment",
    lock="environment",
    limit=timedelta(minutes=60),
)
