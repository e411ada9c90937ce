"""The types of pages outside `/v1`. Features import them from here: only `http` uses the web framework."""

from starlette.requests import Request as WebRequest
from starlette.responses import HTMLResponse as HtmlResponse
from starlette.responses import Response as WebResponse
from starlette.routing import Route

__all__ = ["HtmlResponse", "Route", "WebRequest", "WebResponse"]
