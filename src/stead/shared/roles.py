"""Roles in a team, and the scopes that each role allows at most (its mask).

The effective permission is role mask ∩ key scopes ∩ pin ∩ mode. This module has the mask; pin and mode
determine which objects are visible.
"""

from enum import StrEnum

from stead.shared.scopes import CATALOG


class Role(StrEnum):
    """From the most to the least."""

    OWNER = "owner"
    ADMIN = "admin"
    SITE_MANAGER = "site_manager"
    OBSERVER = "observer"
    BILLING = "billing"

    def is_at_least(self, other: "Role") -> bool:
        """Whether this role is the other one or a more powerful one."""
        return _RANK[self] >= _RANK[other]


_RANK = {role: rank for rank, role in enumerate(reversed(Role))}

_SITE_RESOURCES = (
    *("sites", "environments", "deployments", "backups", "tls", "runtime", "domains", "functions"),
    *("cache", "redirects", "secrets", "cron", "db", "credentials", "exec", "webhooks", "events", "jobs"),
    *("observability", "security", "vulnerabilities"),
)
_SITE_MANAGER = frozenset(
    scope for scope in CATALOG if scope.partition(":")[0] in _SITE_RESOURCES or scope.startswith("cms.")
) - {"sites:admin"} | {"teams:read", "audit:read"}
"""Deleting and transferring a site needs `sites:admin`: the team would lose it."""
_HIDDEN_FROM_OBSERVERS = frozenset({"credentials:read", "secrets:read"})

MASK: dict[Role, frozenset[str]] = {
    Role.OWNER: CATALOG,
    Role.ADMIN: CATALOG,
    Role.SITE_MANAGER: _SITE_MANAGER,
    Role.OBSERVER: frozenset(s for s in _SITE_MANAGER if s.endswith(":read")) - _HIDDEN_FROM_OBSERVERS,
    Role.BILLING: frozenset({"teams:read"}),
}

SITE_VIEWERS = [role.value for role in Role if "sites:read" in MASK[role]]
