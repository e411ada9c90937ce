"""Event types of repositories and pushes."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import Domain, EventType, Payload, Reason, SiteFailure, SitePayload


class BranchRoutesReplaced(Payload):
    domain: Domain
    rules: Annotated[int, Meta(description="The number of rules now.", examples=[3])]


class PushReceived(Payload):
    """`commit` is null if it is not known; then the head of the branch is built."""

    domain: Domain
    branch: Annotated[str, Meta(examples=["feature/shop"])]
    commit: Annotated[str | None, Meta(examples=["3f786850e387550fdab836ed7e6dc881de23001b"])]
    target: Annotated[str, Meta(examples=["preview"])]


class PushSkipped(PushReceived):
    reason: Reason = None


GIT_PUSH_RECEIVED = EventType(
    "git.push_received", "build", "A push was received and is built", data=PushReceived
)
GIT_PUSH_SKIPPED = EventType(
    "git.push_skipped",
    "build",
    "A push could not be built",
    "warning",
    data=PushSkipped,
    in_app=True,
    text="A push to {branch} of {domain} was not built: {reason}",
)
GIT_UNREACHABLE = EventType(
    "git.unreachable",
    "build",
    "A repository cannot be polled for its branches",
    "warning",
    data=SiteFailure,
    in_app=True,
    email=True,
    text="Pushes to {domain} are not detected: {reason}",
)
SITE_BRANCH_ROUTES_CHANGED = EventType(
    "site.branch_routes_changed",
    "site",
    "The branch routes of a site were replaced",
    data=BranchRoutesReplaced,
)
SITE_HOOK_SECRET_ROLLED = EventType(
    "site.hook_secret_rolled", "security", "A new secret was created for the hook of a site", data=SitePayload
)
