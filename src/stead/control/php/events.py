"""Event types of PHP versions."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import Domain, EventType, Payload, SiteFailure

_Version = Annotated[str, Meta(examples=["8.4"])]


class PhpSwitched(Payload):
    """`previous` is the version from before."""

    domain: Domain
    php_version: _Version
    previous: Annotated[str | None, Meta(examples=["8.2"])]


PHP_SWITCHED = EventType(
    "site.php_switched", "site", "The PHP version of a site was switched", data=PhpSwitched
)
PHP_SWITCH_FAILED = EventType(
    "site.php_switch_failed",
    "site",
    "The PHP version of a site could not be switched",
    "error",
    data=SiteFailure,
    in_app=True,
    email=True,
    text="{domain} has the PHP version from before: {reason}",
)
