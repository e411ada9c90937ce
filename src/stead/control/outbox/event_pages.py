"""What customers read of the catalog: a page of all types, and a JSON Schema of each for validation."""

import json
from pathlib import Path
from typing import Any

import msgspec

from stead.control.http.examples import MOMENT, example
from stead.control.outbox.event_types import CATEGORIES, EventCatalog, EventType

_ID, _SITE = "evt_01k9zy3v7d00r3m8w5x2t6b4qa", "site_01k9zy3v7d00r3m8w5x2t6b4qa"
_INTRODUCTION = """# Events

What happens to sites, jobs, teams, keys and webhooks, by category. Read it with `GET /v1/events`, have it
pushed by [webhooks](../webhooks.md), or be notified: *app* and *mail* say which types people are told of,
*severity* how loudly. Each type has a JSON Schema under [`schemas/`](schemas/), of the body of a delivery.

The feed is in the order in which things became true, newest first, and keeps 30 days. Nothing ever appears
below an event that you have seen: to poll, read from the top down to the newest event of the time before.
"""


def payload_schema(event: EventType) -> dict[str, Any]:
    """Additive: whoever validates must take fields they do not know."""
    if event.data is None:
        return {"type": "object"}
    schema = msgspec.json.schema(event.data)
    found = dict(schema["$defs"][event.data.__name__])
    found.pop("additionalProperties", None)
    found.pop("title", None)
    return found


def envelope_example(event: EventType) -> dict[str, Any]:
    about_site = event.category in ("site", "deploy", "job")
    return {
        "id": _ID,
        "type": event.type,
        "site_id": _SITE if about_site else None,
        "env_id": None,
        "created_at": MOMENT,
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
    """Every page by its path under `docs/events/`."""
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
    told = " | ".join("yes" if flag else "" for flag in (event.in_app, event.email))
    fields = ", ".join(f"`{name}`" for name in (event.data.__struct_fields__ if event.data else ()))
    name = f"[`{event.type}`](schemas/{event.type}.json): {event.title}"
    return f"| {name} | {event.severity} | {told} | {fields} |"
