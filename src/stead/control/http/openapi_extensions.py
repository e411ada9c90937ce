"""What the API description says to generated clients beyond OpenAPI: the fields that begin with `x-`."""

from collections.abc import Collection, Mapping

from stead.control.http.openapi_shapes import Json, Shapes
from stead.control.http.operations import Operation, PageInput

_OPTIONS = ("site_id", "env_id")
"""Path parameters that a command takes from the linked folder unless they are given."""
_GROUPS = {"api_keys": "keys", "environments": "env", "webhook_endpoints": "webhooks"}
"""Groups of commands that are not called like the resource."""


def extensions(
    operation: Operation,
    shapes: Shapes,
    job_results: Mapping[str, Collection[str]],
    reads: Mapping[str, Operation],
) -> Json:
    """`job_results` are the result keys by type of job; `reads` are all operations by id."""
    found: Json = {
        "x-scopes": {"any_of" if operation.requires.any_one else "all_of": list(operation.requires.scopes)},
        "x-rate-class": operation.rate,
        "x-preview": operation.preview,
        "x-role": operation.role,
        "x-idempotent": _idempotent(operation),
        "x-destructive": operation.destructive,
        "x-cli": _command(operation),
    }
    if operation.capability is not None:
        found["x-capability"] = operation.capability
    if operation.input_of(PageInput):
        found["x-pagination"] = "cursor"
    if operation.job is not None:
        found["x-job"] = _job(operation, operation.job, job_results, reads)
    if operation.frames:
        found["x-stream"] = _stream(operation, shapes)
    return found


def _idempotent(operation: Operation) -> str:
    """`natural`: may be repeated. `key`: may be repeated with the same `Idempotency-Key`. `none`: may not."""
    if operation.takes_idempotency_key:
        return "key"
    return "natural" if operation.method in ("GET", "PUT", "DELETE") else "none"


def _command(operation: Operation) -> Json:
    resource, _, action = operation.id.partition(".")
    return {
        "group": _GROUPS.get(resource, resource.replace("_", "-")),
        "name": action.replace("_", "-"),
        "arguments": [name for name in operation.path_parameters if name not in _OPTIONS],
    }


def _job(
    operation: Operation, job: str, results: Mapping[str, Collection[str]], reads: Mapping[str, Operation]
) -> Json:
    types = job.split("|")
    found: Json = {
        "types": types,
        "results": sorted({key for each in types for key in results.get(each, ())}),
    }
    if operation.creates is not None:
        read = reads[operation.creates]
        found |= {"read_with": read.id, "names": read.path_parameters[-1]}
    return found


def _stream(operation: Operation, shapes: Shapes) -> Json:
    """Frames by event. The one without a name is called `message`, as in browsers. An optional stream is for
    callers that accept `text/event-stream`: it has what is new, and others get a list."""
    frames = {
        name: {
            "description": frame.description,
            "schema": {"type": "string"} if frame.type is str else shapes.of(frame.type),
        }
        for name, frame in operation.frames.items()
    }
    return {
        "format": "server-sent-events",
        "optional": operation.can_follow,
        "resume_with": None if operation.can_follow else "Last-Event-ID",
        "ends_with": [name for name, frame in operation.frames.items() if frame.ends],
        "events": frames,
    }
