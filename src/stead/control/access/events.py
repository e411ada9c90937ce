"""Event types of access to sites."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import Domain, EventType, Payload


class KeysReplaced(Payload):
    domain: Domain
    added: Annotated[int, Meta(description="How many keys were added.", examples=[1])]
    removed: Annotated[int, Meta(description="How many keys were removed.", examples=[0])]


class PasswordWasReset(Payload):
    domain: Domain
    env_id: Annotated[str, Meta(examples=["env_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    kind: Annotated[str, Meta(examples=["sftp"])]


SITE_SSH_KEYS_CHANGED = EventType(
    "site.ssh_keys_changed",
    "security",
    "The SSH keys of a site were replaced",
    data=KeysReplaced,
    in_app=True,
    audience="admins",
    text="The SSH keys of {domain} were changed: {added} added, {removed} removed.",
)
SITE_PASSWORD_RESET = EventType(
    "site.password_reset",
    "security",
    "A password of a site was replaced by a new one",
    data=PasswordWasReset,
    in_app=True,
    audience="admins",
    text="{domain} has a new password for {kind}. The old one does not work any more.",
)
