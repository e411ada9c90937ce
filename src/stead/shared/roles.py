"""Roles in a team, and the mask that each lays over the scopes of whoever holds it.

Effective permission is role mask ∩ key scopes ∩ pin ∩ mode. The mask is here; the pin and the mode decide
what is visible at all.
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

    def reaches(self, other: "Role") -> bool:
        """Whether this role is the other or above it."""
        return _RANK[self] >= _RANK[other]


_RANK = {role: rank for rank, role in enumerate(reversed(Role))}

_OPERATED = (
    *("sites", "environments", "deployments", "backups", "tls", "runtime", "domains", "functions"),
    *("cache", "redirects", "secrets", "cron", "db", "credentials", "exec", "webhooks", "events", "jobs"),
    *("observability", "security", "vulnerabilities"),
)
_SITE_MANAGER = frozenset(
    scope for scope in CATALOG if scope.partition(":")[0] in _OPERATED or scope.startswith("cms.")
) | {"teams:read", "audit:read"}
_HIDDEN_FROM_OBSERVERS = frozenset({"credentials:read", "secrets:read"})

MASK: dict[Role, frozenset[str]] = {
    Role.OWNER: CATALOG,
    Role.ADMIN: CATALOG,
    Role.SITE_MANAGER: _SITE_MANAGER,
    Role.OBSERVER: frozenset(s for s in _SITE_MANAGER if s.endswith(":read")) - _HIDDEN_FROM_OBSERVERS,
    Role.BILLING: frozenset({"teams:read"}),
}

SEES_SITES = [role.value for role in Role if "sites:read" in MASK[role]]
