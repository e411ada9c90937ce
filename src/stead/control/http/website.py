"""Pages for browsers and load balancers: the API reference at `/docs`, error pages and health checks."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from html import escape
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from stead.artifacts.site_rules import site_file
from stead.control.http.error_pages import html, page
from stead.control.http.page_errors import error_handlers
from stead.control.http.version_changes import CHANGES
from stead.shared.errors import catalog
from stead.shared.metrics import CONTENT_TYPE, Metrics
from stead.shared.versions import VERSIONS, sunset_at

Check = Callable[[], Awaitable[bool]]
FailingTasks = Callable[[], Mapping[str, str]]
"""The names of the tasks that fail at the moment, with the types of their errors."""

_CHECKOUT_VIEWER = Path(__file__).parents[4] / "web" / "node_modules" / "swagger-ui-dist"
_SITE_FILE_SCHEMA = json.dumps(site_file.json_schema(), ensure_ascii=False)
_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " font-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"
)
_REFERENCE = """<!doctype html>
<html lang=en>
<meta charset=utf-8><meta name=viewport content="width=device-width, initial-scale=1">
<title>Stead API reference</title>
<link rel=stylesheet href=/docs/viewer/swagger-ui.css>
<div id=reference></div>
<script src=/docs/viewer/swagger-ui-bundle.js></script>
<script src=/docs/page.js></script>
"""
_START = """SwaggerUIBundle({
  dom_id: '#reference', url: '/v1/openapi.json', deepLinking: true, filter: true,
  docExpansion: 'list', showExtensions: true, tryItOutEnabled: true, persistAuthorization: false,
  validatorUrl: null,
})
"""
_NO_VIEWER = """<!doctype html><html lang=en><meta charset=utf-8><title>Stead API reference</title>
<link rel=stylesheet href=/docs/page.css><main><h1>Stead API</h1>
<p>The reference viewer is not installed here: run <code>make setup</code>.
The description itself is at <a href=/v1/openapi.json>/v1/openapi.json</a>.</p></main>
"""
_STYLE = """body { font: 17px/1.6 system-ui, sans-serif; margin: 0; color: #1c1c1c; background: #fff }
main { max-width: 42rem; margin: 4rem auto; padding: 0 1.5rem }
h1 { font-size: 1.6rem } blockquote { margin: 1.5rem 0; padding: .5rem 1rem; border-left: 4px solid #2a6df4 }
code { background: #f2f4f7; padding: .1em .3em; border-radius: 4px } a { color: #2a6df4 }
@media (prefers-color-scheme: dark) {
  body { color: #e8e8e8; background: #16181d } code { background: #262a33 }
}
"""


def health_routes(
    checks: Mapping[str, Check], required: frozenset[str], failing_tasks: FailingTasks
) -> list[Route]:
    """`checks` test whether each engine responds. The process is ready if all `required` engines do. Tasks
    that fail are shown: they are restarted by themselves."""

    async def alive(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> Response:
        engines = {name: await check() for name, check in checks.items()}
        is_ready = all(engines[name] for name in required)
        status = "ready" if is_ready else "unavailable"
        report = {"status": status, "engines": engines, "failing_tasks": failing_tasks()}
        return JSONResponse(report, 200 if is_ready else 503)

    return [Route("/healthz", alive), Route("/readyz", ready)]


def metrics_site(metrics: Metrics) -> Starlette:
    """The metrics for Prometheus."""
    return Starlette(routes=[_metrics_route(metrics)])


def health_site(
    checks: Mapping[str, Check], required: frozenset[str], failing_tasks: FailingTasks, metrics: Metrics
) -> Starlette:
    """The health checks and the metrics of a program that serves nothing else."""
    return Starlette(routes=[*health_routes(checks, required, failing_tasks), _metrics_route(metrics)])


def _metrics_route(metrics: Metrics) -> Route:
    async def render(_: Request) -> Response:
        return Response(metrics.render(), headers={"content-type": CONTENT_TYPE})

    return Route("/metrics", render)


def website(
    *,
    viewer: Path | None,
    checks: Mapping[str, Check],
    required: frozenset[str],
    failing_tasks: FailingTasks = dict,
    docs_url: str = "/docs",
    pages: Sequence[Route] = (),
) -> Starlette:
    """`pages` are the pages of the features."""
    assets = viewer or _CHECKOUT_VIEWER

    async def reference(_: Request) -> Response:
        installed = (assets / "swagger-ui-bundle.js").is_file()
        return HTMLResponse(_REFERENCE if installed else _NO_VIEWER, headers=_headers())

    async def error_page(request: Request) -> Response:
        requested = request.path_params["type"], request.path_params["code"]
        for error in catalog():
            if (error.type, error.code) == requested:
                return HTMLResponse(html(error), headers=_headers())
        raise HTTPException(404)

    async def versions(_: Request) -> Response:
        return HTMLResponse(_versions_page(), headers=_headers())

    routes = [
        Route("/", lambda _: RedirectResponse("/docs")),
        *health_routes(checks, required, failing_tasks),
        Route("/docs", reference),
        Route("/docs/page.js", _asset(_START, "text/javascript")),
        Route("/docs/page.css", _asset(_STYLE, "text/css")),
        Route("/docs/stead.schema.json", _asset(_SITE_FILE_SCHEMA, "application/schema+json")),
        Route("/docs/errors/{type}/{code}", error_page),
        Route("/docs/versions", versions),
        *pages,
        Mount("/docs/viewer", StaticFiles(directory=assets, check_dir=False)),
    ]
    return Starlette(routes=routes, exception_handlers=error_handlers(docs_url, _headers()))


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


def _headers() -> dict[str, str]:
    return {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff"}


def _asset(text: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(_: Request) -> Response:
        return Response(text, media_type=kind)

    return serve
