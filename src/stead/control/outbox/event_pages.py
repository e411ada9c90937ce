"""The documentation of event types: one page with all of them, and a JSON Schema of each."""

import json
from pathlib import Path
from typing import Any

import msgspec

from stead.control.http.examples import EXAMPLE_TIME, example
from stead.control.outbox.event_types import CATEGORIES, EventCatalog, EventType

_ID, _SITE = "evt_01k9zy3v7d00r3m8w5x2t6b4qa", "site_01k9zy3v7d00r3m8w5x2t6b4qa"
_INTRODUCTION = """# Events

All event types, by category. Read events with `GET /v1/events`, receive them with [webhooks](../webhooks.md),
or get notifications: *app* marks the types that create a notification, *mail* those that are also sent by
email. Each type has a JSON Schema of the delivery body in [`schemas/`](schemas/).

The feed lists events in commit order, newest first, for 30 days. A new event never appears below an event
that you have already read. To poll, read from the top until you reach the newest event of the previous poll.
"""


def payload_schema(event: EventType) -> dict[str, Any]:
    """Additional fields are allowed, so that fields can be added later."""
    if event.data is None:
        return {"type": "object"}
    schema = msgspec.json.schema(event.data)
    payload = dict(schema["$defs"][event.data.__name__])
    payload.pop("additionalProperties", None)
    payload.pop("title", None)
    return payload


def envelope_example(event: EventType) -> dict[str, Any]:
    about_site = event.category in ("site", "deploy", "job")
    return {
        "id": _ID,
        "type": event.type,
        "site_id": _SITE if about_site else None,
        "env_id": None,
        "created_at": EXAMPLE_TIME,
        "data": example(event.data) if event.data else {},
    }


def envelope_schema(event: EventType) -> dict[str, Any]:
    optional = {"type": ["string", "null"]}
    properties = {
        "id": {"type": "string", "pattern": "^evt_"},
        "type": {"const": event.type},
        "site_id": optional,
        "env_id": optional,
        "created_at": {"type": "string", "format": "date-time"},
        "data": payload_schema(event),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": event.title,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "examples": [envelope_example(event)],
    }


def pages(catalog: EventCatalog) -> dict[Path, str]:
    """Return every page by its path below `docs/events/`."""
    return {
        Path("README.md"): _index(catalog),
        **{
            Path("schemas") / f"{event.type}.json": json.dumps(envelope_schema(event), indent=1) + "\n"
            for event in catalog.values()
        },
    }


def _index(catalog: EventCatalog) -> str:
    lines = [_INTRODUCTION]
    for category in CATEGORIES:
        types = [event for event in catalog.values() if event.category == category]
        if types:
            lines += [
                f"## {category}\n",
                "| type | severity | app | mail | `data` |",
                "|---|---|---|---|---|",
            ]
            lines += [_row(event) for event in types] + [""]
    return "\n".join(lines)


def _row(event: EventType) -> str:
    channels = " | ".join("yes" if flag else "" for flag in (event.in_app, event.email))
    fields = ", ".join(f"`{name}`" for name in (event.data.__struct_fields__ if event.data else ()))
    name = f"[`{event.type}`](schemas/{event.type}.json): {event.title}"
    return f"| {name} | {event.severity} | {channels} | {fields} |"
