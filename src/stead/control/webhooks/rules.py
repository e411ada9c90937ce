"""What an endpoint and a delivery are, and when a delivery is tried again. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from stead.control.http.principal import Mode, Pin, PinType
from stead.shared.errors import Conflict, InvalidRequest, NotFound, QuotaExceeded
from stead.shared.ids import AccountId, DeliveryId, EndpointId
from stead.shared.roles import MASK, Role

DeliveryStatus = Literal["pending", "delivered", "failed"]

ROLL_GRACE = timedelta(hours=24)
GIVE_UP_ON_ENDPOINT = timedelta(days=5)
LONGEST_PAUSE = timedelta(hours=24)
MOST_ENDPOINTS = 50
EVERYTHING = "*"
READS_EVENTS = [role.value for role in Role if "events:read" in MASK[role]]
"""Whoever has another role in a team is not told what happens there."""

PAUSES = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
"""After the first attempt, the second, and so on: ten attempts in a little more than three days."""

MOST_ATTEMPTS = len(PAUSES) + 1
JITTER = 0.1
"""A pause is longer by up to this part, so that what failed together is not tried again together."""


def pause_after(attempts: int, chance: float, asked: timedelta | None = None) -> timedelta | None:
    """How long to wait after so many attempts; None when that was the last.

    `chance` is between 0 and 1; `asked` is what the receiver's `Retry-After` says.
    """
    if attempts >= MOST_ATTEMPTS:
        return None
    pause = PAUSES[attempts - 1] * (1 + JITTER * chance)
    return max(pause, min(asked, LONGEST_PAUSE)) if asked is not None else pause


@dataclass(frozen=True, slots=True)
class VisibleEndpoint:
    """An endpoint of the caller's account that the caller's own pin and mode let it see."""

    id: EndpointId
    account_id: AccountId
    mode: Mode
    pin_type: PinType | None
    pin_id: str | None
    url: str
    event_types: list[str]
    description: str | None
    enabled: bool
    disabled_reason: str | None
    created_at: datetime

    @property
    def pin(self) -> Pin | None:
        return Pin(self.pin_type, self.pin_id) if self.pin_type and self.pin_id else None


@dataclass(frozen=True, slots=True)
class VisibleDelivery:
    """A delivery to a visible endpoint, of an event that the endpoint's account can still see."""

    id: DeliveryId
    endpoint_id: EndpointId


class EndpointNotFound(NotFound):
    code = "webhook_endpoint.not_found"
    message = "There is no such webhook endpoint."
    remedy = "List the endpoints this credential can see with `GET /v1/webhook-endpoints`."


class DeliveryNotFound(NotFound):
    code = "webhook_delivery.not_found"
    message = "There is no such delivery under this endpoint."
    remedy = "List its deliveries; they are kept for 30 days."


class UrlNotAllowed(InvalidRequest):
    code = "webhook.url_not_allowed"
    message = "`url` cannot be delivered to: {reason}"
    remedy = "Use an HTTPS address on port 443 or 8443 that is reachable from the public internet."


class EndpointIsDisabled(Conflict):
    code = "webhook_endpoint.disabled"
    message = "The endpoint is disabled: nothing is sent to it."
    remedy = "Enable it with `PATCH /v1/webhook-endpoints/{endpoint_id}`, then replay."


class EndpointsExhausted(QuotaExceeded):
    code = "quota.webhook_endpoints"
    message = "An account has at most {most} webhook endpoints."
    remedy = "Delete one that is not needed any more."
