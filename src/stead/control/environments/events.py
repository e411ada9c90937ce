"""Event types of environments."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import Domain, EventType, Payload, Reason, Status


class EnvironmentPayload(Payload):
    """`domain` is its site's, `subdomain` its own."""

    domain: Domain
    subdomain: Annotated[str, Meta(examples=["example-com-x7k2-feature-checkout.preview.stead.example"])]
    type: Annotated[str, Meta(examples=["branch"])]
    branch: Annotated[str | None, Meta(examples=["feature/checkout"])]


class EnvironmentStatusChanged(EnvironmentPayload):
    """`status` is what the environment became, `previous` what it was."""

    status: Status
    previous: Annotated[str, Meta(examples=["provisioning"])]
    reason: Reason = None


class EnvironmentTakenDown(EnvironmentPayload):
    reason: Reason = None


class EnvironmentActionFailed(EnvironmentPayload):
    action: Annotated[str, Meta(description="What was tried.", examples=["resume"])]
    reason: Reason = None


class EnvironmentDestroyScheduled(EnvironmentPayload):
    destroy_at: Annotated[str, Meta(examples=["2027-02-13T04:18:51+00:00"])]


class EnvironmentLeaseRenewed(EnvironmentPayload):
    lease_expires_at: Annotated[str, Meta(examples=["2027-02-13T04:18:51+00:00"])]


ENV_CREATED = EventType("env.created", "environment", "An environment is ready", data=EnvironmentPayload)
ENV_STATUS_CHANGED = EventType(
    "env.status_changed", "environment", "The status of an environment changed", data=EnvironmentStatusChanged
)
ENV_SUSPENDED = EventType(
    "env.suspended",
    "environment",
    "An environment was suspended",
    data=EnvironmentTakenDown,
    in_app=True,
    text="{subdomain} is paused until somebody resumes it.",
)
ENV_RESUMED = EventType(
    "env.resumed", "environment", "An environment is back in service", data=EnvironmentPayload
)
ENV_DESTROYED = EventType(
    "env.destroyed",
    "environment",
    "An environment was destroyed",
    data=EnvironmentTakenDown,
    in_app=True,
    text="{subdomain} is gone.",
)
ENV_DESTROY_SCHEDULED = EventType(
    "env.destroy_scheduled",
    "environment",
    "An environment will be destroyed",
    "warning",
    data=EnvironmentDestroyScheduled,
    in_app=True,
    text="The branch {branch} is gone; {subdomain} follows it on {destroy_at}.",
)
ENV_DESTROY_CALLED_OFF = EventType(
    "env.destroy_called_off",
    "environment",
    "An environment stays, for its branch is back",
    data=EnvironmentPayload,
)
ENV_REFRESHED = EventType(
    "env.refreshed", "environment", "An environment shows what production shows", data=EnvironmentPayload
)
ENV_RESET = EventType("env.reset", "environment", "An environment was reset", data=EnvironmentPayload)
ENV_PUSHED = EventType(
    "env.pushed",
    "environment",
    "The content of an environment became production's",
    data=EnvironmentPayload,
    in_app=True,
    text="{domain} shows what {subdomain} showed.",
)
ENV_RENEWED = EventType(
    "env.renewed", "environment", "The lease of an environment was renewed", data=EnvironmentLeaseRenewed
)
ENV_FAILED = EventType(
    "env.failed",
    "environment",
    "Something could not be done with an environment",
    "error",
    data=EnvironmentActionFailed,
    in_app=True,
    email=True,
    text="{action} of {subdomain} failed: {reason}",
)
