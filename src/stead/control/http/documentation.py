"""The documentation for browsers at `/docs`: the API reference, and pages of errors, events and versions."""

import importlib.metadata
import json
from collections.abc import Awaitable, Callable, Mapping
from html import escape
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from stead.artifacts.site_rules import site_file
from stead.control.http.error_pages import html, html_index, page
from stead.control.http.version_changes import CHANGES
from stead.control.outbox import event_pages
from stead.control.outbox.event_types import EventCatalog
from stead.shared.errors import catalog
from stead.shared.versions import VERSIONS, sunset_at

_CHECKOUT_VIEWER = Path(__file__).parents[4] / "web" / "node_modules" / "swagger-ui-dist"
_SITE_FILE_SCHEMA = json.dumps(site_file.json_schema(), ensure_ascii=False)
_LINKS = """<nav><a href=/docs>API reference</a> <a href=/docs/errors>Errors</a>
<a href=/docs/events>Events</a> <a href=/docs/versions>Versions</a> <a href=/v1/openapi.json>OpenAPI</a>
<a href=/docs/stead.schema.json>Schema of stead.json</a></nav>
"""
_REFERENCE = f"""<!doctype html>
<html lang=en>
<meta charset=utf-8><meta name=viewport content="width=device-width, initial-scale=1">
<title>Stead API reference</title>
<link rel=stylesheet href=/docs/viewer/swagger-ui.css>
<link rel=stylesheet href=/docs/page.css>
{_LINKS}<div id=reference></div>
<script src=/docs/viewer/swagger-ui-bundle.js></script>
<script src=/docs/page.js></script>
"""
_START = """SwaggerUIBundle({
  dom_id: '#reference', url: '/v1/openapi.json', deepLinking: true, filter: true,
  docExpansion: 'list', showExtensions: true, tryItOutEnabled: true, persistAuthorization: false,
  validatorUrl: null,
})
"""
_NO_VIEWER = f"""<!doctype html><html lang=en><meta charset=utf-8><title>Stead API reference</title>
<link rel=stylesheet href=/docs/page.css>{_LINKS}<main><h1>Stead API</h1>
<p>The reference viewer is not installed here: run <code>make setup</code>.
The description itself is at <a href=/v1/openapi.json>/v1/openapi.json</a>.</p></main>
"""
_STYLE = """body { font: 17px/1.6 system-ui, sans-serif; margin: 0; color: #1c1c1c; background: #fff }
main { max-width: 42rem; margin: 4rem auto; padding: 0 1.5rem }
nav { padding: 1rem 1.5rem; font-size: 1rem } nav a { margin-right: 1rem }
h1 { font-size: 1.6rem } blockquote { margin: 1.5rem 0; padding: .5rem 1rem; border-left: 4px solid #2a6df4 }
table { border-collapse: collapse; width: 100% } td { padding: .4rem .8rem .4rem 0; vertical-align: top }
code { background: #f2f4f7; padding: .1em .3em; border-radius: 4px } a { color: #2a6df4 }
main form input { display: block; width: 100%; box-sizing: border-box }
main form input, main form button { font: inherit; min-height: 2.75rem; padding: .4rem .8rem;
  border: 1px solid #6b7280; border-radius: 6px }
main form button { cursor: pointer; margin-right: .5rem }
main form :focus-visible { outline: 3px solid #2a6df4 }
main [role=alert] { border-left: 4px solid #c62828; padding-left: 1rem }
main dt { font-weight: 600 } main dd { margin: 0 0 .6rem }
@media (prefers-color-scheme: dark) {
  main { color: #e8e8e8 } body:not(:has(#reference)) { background: #16181d } main code { background: #262a33 }
}
"""


def documentation_routes(
    viewer: Path | None, events: EventCatalog, headers: Mapping[str, str]
) -> list[BaseRoute]:
    """`viewer` is the folder of Swagger UI; without it, that of a checkout is used."""
    assets = viewer or _CHECKOUT_VIEWER

    async def reference(_: Request) -> Response:
        installed = (assets / "swagger-ui-bundle.js").is_file()
        return HTMLResponse(_REFERENCE if installed else _NO_VIEWER, headers=headers)

    async def error_page(request: Request) -> Response:
        requested = request.path_params["type"], request.path_params["code"]
        for error in catalog():
            if (error.type, error.code) == requested:
                return HTMLResponse(html(error), headers=headers)
        raise HTTPException(404)

    async def event_schema(request: Request) -> Response:
        event = events.get(request.path_params["type"])
        if event is None:
            raise HTTPException(404)
        schema = json.dumps(event_pages.envelope_schema(event), indent=1)
        return Response(schema, media_type="application/schema+json")

    return [
        Route("/docs", reference),
        Route("/docs/page.js", _fixed(_START, "text/javascript")),
        Route("/docs/page.css", _fixed(_STYLE, "text/css")),
        Route("/docs/clients.json", _fixed(_clients(), "application/json")),
        Route("/docs/stead.schema.json", _fixed(_SITE_FILE_SCHEMA, "application/schema+json")),
        Route("/docs/errors", _fixed(html_index(), "text/html", headers)),
        Route("/docs/errors/{type}/{code}", error_page),
        Route("/docs/events", _fixed(_events_page(events), "text/html", headers)),
        Route("/docs/events/{type}.json", event_schema),
        Route("/docs/versions", _fixed(_versions_page(), "text/html", headers)),
        Mount("/docs/viewer", StaticFiles(directory=assets, check_dir=False)),
    ]


def _clients() -> str:
    """Which versions of the clients are made for this installation. The program `stead` compares its own."""
    version = importlib.metadata.version("stead")
    return json.dumps({"cli": version, "python": version, "typescript": version})


def _events_page(events: EventCatalog) -> str:
    categories = dict.fromkeys(event.category for event in events.values())
    tables = ""
    for category in categories:
        rows = "".join(
            f'<tr><td><a href="/docs/events/{escape(event.type)}.json"><code>{escape(event.type)}</code></a>'
            f"<td>{escape(event.title)}"
            for event in events.values()
            if event.category == category
        )
        tables += f"<h2>{escape(category)}</h2><table>{rows}</table>"
    return page(
        "Events",
        "<h1>Events</h1><p>Read events with <code>GET /v1/events</code>, or receive them with webhooks. Each"
        f" type links to the JSON Schema of its delivery.</p>{tables}",
    )


def _versions_page() -> str:
    """The page that the `Link` header of a deprecated shape points to."""
    changes = "".join(
        f"<li><strong>{change.since.isoformat()}</strong>, <code>{escape(change.shape)}</code>:"
        f" {escape(change.summary)} The older shape is supported until {sunset_at(change.since):%Y-%m-%d}."
        "</li>"
        for change in CHANGES
    )
    dates = ", ".join(f"<code>{version.isoformat()}</code>" for version in VERSIONS)
    return page(
        "Versions",
        f"<h1>Versions</h1><p>Pin a version with the header <code>Api-Version</code>: {dates}. Without the"
        f" header you get the latest version.</p><h2>Changes</h2><ul>{changes}</ul>",
    )


def _fixed(
    text: str, kind: str, headers: Mapping[str, str] | None = None
) -> Callable[[Request], Awaitable[Response]]:
    async def serve(_: Request) -> Response:
        return Response(text, media_type=kind, headers=headers)

    return serve
