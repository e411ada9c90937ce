"""Pages for browsers and load balancers: the documentation at `/docs`, error pages and health checks."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from stead.control.http.documentation import documentation_routes
from stead.control.http.page_errors import error_handlers
from stead.control.outbox.event_types import EventCatalog
from stead.shared.metrics import CONTENT_TYPE, Metrics

Check = Callable[[], Awaitable[bool]]
FailingTasks = Callable[[], Mapping[str, str]]
"""The names of the tasks that fail at the moment, with the types of their errors."""

_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " font-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"
)


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
    events: EventCatalog,
    checks: Mapping[str, Check],
    required: frozenset[str],
    failing_tasks: FailingTasks = dict,
    docs_url: str = "/docs",
    pages: Sequence[Route] = (),
) -> Starlette:
    """`pages` are the pages of the features."""
    routes = [
        Route("/", lambda _: RedirectResponse("/docs")),
        *health_routes(checks, required, failing_tasks),
        *documentation_routes(viewer, events, _headers()),
        *pages,
    ]
    return Starlette(routes=routes, exception_handlers=error_handlers(docs_url, _headers()))


def _headers() -> dict[str, str]:
    return {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff"}
