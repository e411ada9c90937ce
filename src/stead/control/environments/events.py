"""Event types of environments."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import Domain, EventType, Payload, Reason, Status


class EnvironmentPayload(Payload):
    """`domain` is the domain of the site, `subdomain` the host name of the environment."""

    domain: Domain
    subdomain: Annotated[str, Meta(examples=["example-com-x7k2-feature-checkout.preview.stead.example"])]
    type: Annotated[str, Meta(examples=["branch"])]
    branch: Annotated[str | None, Meta(examples=["feature/checkout"])]


class EnvironmentStatusChanged(EnvironmentPayload):
    """`status` is the new status, `previous` the old one."""

    status: Status
    previous: Annotated[str, Meta(examples=["provisioning"])]
    reason: Reason = None


class EnvironmentTakenDown(EnvironmentPayload):
    reason: Reason = None


class EnvironmentActionFailed(EnvironmentPayload):
    action: Annotated[str, Meta(description="The action that failed.", examples=["resume"])]
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
    text="{subdomain} is suspended until it is resumed.",
)
ENV_RESUMED = EventType("env.resumed", "environment", "An environment was resumed", data=EnvironmentPayload)
ENV_DESTROYED = EventType(
    "env.destroyed",
    "environment",
    "An environment was destroyed",
    data=EnvironmentTakenDown,
    in_app=True,
    text="{subdomain} was destroyed.",
)
ENV_DESTROY_SCHEDULED = EventType(
    "env.destroy_scheduled",
    "environment",
    "An environment will be destroyed",
    "warning",
    data=EnvironmentDestroyScheduled,
    in_app=True,
    text="The branch {branch} was deleted. {subdomain} will be destroyed on {destroy_at}.",
)
ENV_DESTROY_CALLED_OFF = EventType(
    "env.destroy_called_off",
    "environment",
    "An environment will not be destroyed: its branch is back",
    data=EnvironmentPayload,
)
ENV_REFRESHED = EventType(
    "env.refreshed", "environment", "An environment was refreshed from production", data=EnvironmentPayload
)
ENV_RESET = EventType("env.reset", "environment", "An environment was reset", data=EnvironmentPayload)
ENV_PUSHED = EventType(
    "env.pushed",
    "environment",
    "An environment was pushed to production",
    data=EnvironmentPayload,
    in_app=True,
    text="The content of {subdomain} was pushed to {domain}.",
)
ENV_RENEWED = EventType(
    "env.renewed", "environment", "The lease of an environment was renewed", data=EnvironmentLeaseRenewed
)
ENV_FAILED = EventType(
    "env.failed",
    "environment",
    "An action on an environment failed",
    "error",
    data=EnvironmentActionFailed,
    in_app=True,
    email=True,
    text="{action} of {subdomain} failed: {reason}",
)
