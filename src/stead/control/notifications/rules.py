"""Which members of a team are notified, and the limits of notification emails. No I/O."""

from datetime import timedelta

from stead.control.outbox.event_types import Audience
from stead.shared.roles import MASK, Role

RETENTION = timedelta(days=90)
DIGEST_EVERY = timedelta(minutes=15)
"""The first email is sent immediately. Notifications of the next minutes are sent in one."""
MAX_PER_EMAIL = 50
MAX_MARKED = 1000

ROLES_BY_AUDIENCE: dict[Audience, list[str]] = {
    "sees_sites": [role.value for role in Role if "sites:read" in MASK[role]],
    "admins": [role.value for role in Role if role.is_at_least(Role.ADMIN)],
    "billing": [Role.OWNER.value, Role.BILLING.value],
}
