"""Who in a team is told of what, and how mail is kept from becoming too much. No I/O."""

from datetime import timedelta

from stead.control.outbox.event_types import Audience
from stead.shared.roles import MASK, Role

RETENTION = timedelta(days=90)
DIGEST_EVERY = timedelta(minutes=15)
"""The first letter leaves at once; what happens in the next minutes is told in one."""
MOST_IN_A_LETTER = 50
MOST_MARKED = 1000

TOLD: dict[Audience, list[str]] = {
    "sees_sites": [role.value for role in Role if "sites:read" in MASK[role]],
    "admins": [role.value for role in Role if role.reaches(Role.ADMIN)],
    "billing": [Role.OWNER.value, Role.BILLING.value],
}
