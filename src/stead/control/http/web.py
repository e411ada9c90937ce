"""What pages outside `/v1` are made of. Features import it from here: only `http` uses the web framework."""

from starlette.requests import Request as WebRequest
from starlette.responses import HTMLResponse as HtmlResponse
from starlette.responses import Response as WebResponse
from starlette.routing import Route

__all__ = ["HtmlResponse", "Route", "WebRequest", "WebResponse", "form_headers"]


def form_headers(targets: str) -> dict[str, str]:
    """Of a page with a form that people type their password into. It may be sent to these targets only."""
    return {
        "Content-Security-Policy": (
            f"default-src 'none'; style-src 'self'; form-action {targets}; frame-ancestors 'none';"
            " base-uri 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
