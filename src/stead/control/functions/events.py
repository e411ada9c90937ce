"""Event types of functions."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import ArtifactId, Domain, EventType, Payload, Reason

_FunctionId = Annotated[str, Meta(examples=["fn_01k9zy3v7d00r3m8w5x2t6b4qa"])]
_VersionId = Annotated[str | None, Meta(examples=["fnv_01k9zy3v7d00r3m8w5x2t6b4qa"])]
_Slug = Annotated[str, Meta(examples=["guestbook"])]


class FunctionPayload(Payload):
    domain: Domain
    function_id: _FunctionId
    slug: _Slug


class FunctionDeployed(Payload):
    domain: Domain
    function_id: _FunctionId
    slug: _Slug
    version_id: _VersionId = None
    artifact_id: ArtifactId = None


class FunctionFailed(Payload):
    domain: Domain
    function_id: _FunctionId
    slug: _Slug
    reason: Reason = None


class FunctionLimited(Payload):
    domain: Domain
    function_id: _FunctionId
    slug: _Slug
    version_id: _VersionId = None
    requests_per_second: Annotated[int, Meta(description="The limit.", examples=[100])] = 0


FUNCTION_CREATED = EventType("function.created", "function", "A function was created", data=FunctionPayload)
FUNCTION_UPDATED = EventType(
    "function.updated", "function", "The settings of a function changed", data=FunctionPayload
)
FUNCTION_DEPLOYED = EventType(
    "function.deployed",
    "function",
    "A function was deployed",
    data=FunctionDeployed,
    in_app=True,
    text="The function {slug} of {domain} was deployed.",
)
FUNCTION_ROLLED_BACK = EventType(
    "function.rolled_back",
    "function",
    "A function was rolled back",
    data=FunctionDeployed,
    in_app=True,
    text="The function {slug} of {domain} was rolled back to an earlier version.",
)
FUNCTION_FAILED = EventType(
    "function.failed",
    "function",
    "A function could not be built or deployed",
    "error",
    data=FunctionFailed,
    in_app=True,
    email=True,
    text="The function {slug} of {domain} could not be built or deployed: {reason}",
)
FUNCTION_LIMITED = EventType(
    "function.limited",
    "function",
    "A function got more requests than its limit, and some were refused",
    "warning",
    data=FunctionLimited,
    in_app=True,
    text="The function {slug} of {domain} got more than {requests_per_second} requests per second.",
)
FUNCTION_DELETED = EventType("function.deleted", "function", "A function was deleted", data=FunctionPayload)
