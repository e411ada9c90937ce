"""The scopes of API keys, and what a list of granted scopes allows.

`write` implies `read`, and `admin` implies `write`. `resource:*` is every action on a resource. `*` is every
scope except the isolated ones, which must be granted by name.
"""

from collections.abc import Iterable

_LADDER = ("read", "write", "admin")

_ACTIONS: dict[str, tuple[str, ...]] = {
    "account": ("read", "write", "admin"),
    "teams": ("read", "write", "admin"),
    "audit": ("read",),
    "sites": ("read", "write", "admin"),
    "deployments": ("read", "write"),
    "environments": ("read", "write"),
    "backups": ("read", "write"),
    "tls": ("read", "write"),
    "runtime": ("write",),
    "domains": ("read", "write"),
    "observability": ("read",),
    "security": ("read", "write"),
    "vulnerabilities": ("read",),
    "jobs": ("read",),
    "events": ("read",),
    "webhooks": ("read", "write"),
    "notifications": ("read", "write"),
    "functions": ("read", "write"),
    "cache": ("write",),
    "redirects": ("read", "write"),
    "secrets": ("read", "write"),
    "cms.cli": ("exec",),
    "cms.plugins": ("read", "write"),
    "cms.themes": ("read", "write"),
    "cms.content": ("read", "write"),
    "cms.users": ("read", "write"),
    "cron": ("read", "write"),
    "db": ("read", "write"),
    "credentials": ("read", "write"),
    "exec": ("raw",),
    "keys": ("read", "write"),
}

CATALOG = frozenset(f"{resource}:{action}" for resource, actions in _ACTIONS.items() for action in actions)
ISOLATED = frozenset({"credentials:read", "credentials:write", "exec:raw", "keys:read", "keys:write"})
EVERYTHING = "*"


class UnknownScope(ValueError):
    """The name is neither a scope of the catalog nor a wildcard."""


def _implied(scope: str) -> frozenset[str]:
    resource, action = scope.split(":")
    if action not in _LADDER:
        return frozenset({scope})
    below = _LADDER[: _LADDER.index(action) + 1]
    return frozenset(f"{resource}:{step}" for step in below) & CATALOG


_MEANING: dict[str, frozenset[str]] = {
    EVERYTHING: CATALOG - ISOLATED,
    **{scope: _implied(scope) for scope in CATALOG},
    **{
        f"{resource}:*": granted
        for resource, actions in _ACTIONS.items()
        if (granted := frozenset(f"{resource}:{action}" for action in actions) - ISOLATED)
    },
}

GRANTABLE = tuple(sorted(_MEANING))


def expand(granted: Iterable[str]) -> frozenset[str]:
    """Returns every scope of the catalog that these grants allow."""
    allowed: frozenset[str] = frozenset()
    for scope in granted:
        try:
            allowed |= _MEANING[scope]
        except KeyError:
            raise UnknownScope(scope) from None
    return allowed


def first_excess(wanted: Iterable[str], held: frozenset[str]) -> str | None:
    """Returns the first wanted grant that allows more than `held`, or None if there is none."""
    return next((scope for scope in wanted if not expand([scope]) <= held), None)
