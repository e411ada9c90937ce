"""What the jobs of the edge carry with them."""

from msgspec import Struct

from stead.control.configuration.rules import Settings
from stead.control.redirects.rules import RedirectRule


class ConfigurationWork(Struct, frozen=True):
    """`subject` is the site or the environment whose settings change."""

    subject: str
    change: Settings


class RedirectsWork(Struct, frozen=True):
    rules: list[RedirectRule]


class PurgeWork(Struct, frozen=True):
    environment: str
    url: str | None = None
    tag: str | None = None
