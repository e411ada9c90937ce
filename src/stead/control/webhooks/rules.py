"""Endpoints and deliveries: types, limits, the retry schedule and errors. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from stead.control.http.modes import ModeBound
from stead.control.http.principal import Mode, Pin, PinType
from stead.shared.errors import Conflict, InvalidRequest, NotFound
from stead.shared.ids import AccountId, DeliveryId, EndpointId
from stead.shared.roles import MASK, Role

DeliveryStatus = Literal["pending", "delivered", "failed"]

ROLL_GRACE = timedelta(hours=24)
DISABLE_AFTER = timedelta(days=5)
"""An endpoint is disabled when every delivery has failed for this long."""
MAX_RETRY_DELAY = timedelta(hours=24)
EVERYTHING = "*"
READS_EVENTS = [role.value for role in Role if "events:read" in MASK[role]]
"""Team roles whose endpoints receive the events of the team."""

RETRY_DELAYS = (
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
"""The delay after each attempt: ten attempts in a little more than three days."""

MAX_ATTEMPTS = len(RETRY_DELAYS) + 1
JITTER = 0.1
"""A delay is extended by up to this fraction, so that deliveries that failed together are not retried
together."""


def retry_delay(attempts: int, chance: float, requested: timedelta | None = None) -> timedelta | None:
    """The delay after this number of attempts; None after the last.

    `chance` is a random number between 0 and 1; `requested` is the receiver's `Retry-After`.
    """
    if attempts >= MAX_ATTEMPTS:
        return None
    delay = RETRY_DELAYS[attempts - 1] * (1 + JITTER * chance)
    return max(delay, min(requested, MAX_RETRY_DELAY)) if requested is not None else delay


@dataclass(frozen=True, slots=True)
class VisibleEndpoint(ModeBound):
    """An endpoint of the caller's account that matches the caller's pin and mode."""

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
class VisibleDelivery(ModeBound):
    """A delivery to a visible endpoint, of an event that the account of the endpoint can still read."""

    id: DeliveryId
    endpoint_id: EndpointId


class EndpointNotFound(NotFound):
    code = "webhook_endpoint.not_found"
    message = "There is no such webhook endpoint."
    remedy = "List the endpoints that this credential can see with `GET /v1/webhook-endpoints`."


class DeliveryNotFound(NotFound):
    code = "webhook_delivery.not_found"
    message = "There is no such delivery under this endpoint."
    remedy = "List the deliveries of the endpoint. They are kept for 30 days."


class UrlNotAllowed(InvalidRequest):
    code = "webhook.url_not_allowed"
    message = "Webhooks cannot be sent to `url`: {reason}"
    remedy = "Use an HTTPS address on port 443 or 8443 that is reachable from the public internet."


class EndpointIsDisabled(Conflict):
    code = "webhook_endpoint.disabled"
    message = "The endpoint is disabled: nothing is sent to it."
    remedy = "Enable it with `PATCH /v1/webhook-endpoints/{endpoint_id}`, then replay the delivery."
