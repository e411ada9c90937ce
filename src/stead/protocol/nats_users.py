"""The users of NATS with their permissions, as the configuration of the server has them."""

import json
from collections.abc import Iterable
from typing import Any

from stead.protocol.subjects import NatsIdentity, NatsPermissions, Node, Program, permissions, user


def render_user(identity: NatsIdentity, password: str) -> dict[str, Any]:
    return {
        "user": user(identity),
        "password": password,
        "permissions": _render_permissions(permissions(identity)),
    }


def _render_permissions(granted: NatsPermissions) -> dict[str, dict[str, tuple[str, ...]]]:
    return {
        "publish": {"allow": granted.publish, "deny": granted.deny_publish},
        "subscribe": {"allow": granted.subscribe, "deny": granted.deny_subscribe},
    }


def render_authorization(nodes: Iterable[str]) -> str:
    """The section of an installation, for a file that the configuration includes. Passwords are variables of
    the server's environment, without which it does not start."""
    identities = [*Program, *(Node(node) for node in nodes)]
    variables = {identity: f"$NATS_{user(identity).upper().replace('-', '_')}" for identity in identities}
    if len(set(variables.values())) < len(variables):
        raise ValueError("the passwords of two nodes would have the same name")
    users = [render_user(identity, variable) for identity, variable in variables.items()]
    text = json.dumps({"authorization": {"users": users}}, indent=2)
    for variable in variables.values():
        # The format is a superset of JSON. In quotes it would be the password itself.
        text = text.replace(f'"password": "{variable}"', f'"password": {variable}')
    # Without the outer braces: it is one of several sections.
    return text[1:-1].strip("\n")
