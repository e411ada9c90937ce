"""The page behind the link in every letter: no more mail like this."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from stead.control.engines.postgres import Database
from stead.control.http.error_pages import page
from stead.control.notifications.mailing import UNSUBSCRIBE_PATH, read, unsubscribe
from stead.control.sealing import Sealer

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_UNKNOWN = page("Not found", "<h1>This link is not valid</h1><p>Perhaps a part of it is missing.</p>")


def unsubscribe_routes(database: Database, sealer: Sealer) -> list[Route]:
    """Looking changes nothing, for programs follow links; a mail program posts, and so does the button."""

    async def look(request: Request) -> Response:
        wish = read(sealer, request.query_params.get("token", ""))
        if wish is None:
            return HTMLResponse(_UNKNOWN, 404, headers=_HEADERS)
        return HTMLResponse(_question(wish.categories), headers=_HEADERS)

    async def stop(request: Request) -> Response:
        wish = await unsubscribe(database, sealer, request.query_params.get("token", ""))
        if wish is None:
            return HTMLResponse(_UNKNOWN, 404, headers=_HEADERS)
        return HTMLResponse(_done(wish.categories), headers=_HEADERS)

    return [
        Route(UNSUBSCRIBE_PATH, look, methods=["GET"]),
        Route(UNSUBSCRIBE_PATH, stop, methods=["POST"]),
    ]


def _question(categories: list[str]) -> str:
    return page(
        "No more mail",
        f"<h1>No more mail?</h1><p>You will get no more mail about: {', '.join(categories)}."
        ' Notifications stay.</p><form method="post"><button>No more mail</button></form>',
    )


def _done(categories: list[str]) -> str:
    return page(
        "No more mail",
        f"<h1>Done</h1><p>You get no more mail about: {', '.join(categories)}."
        " You can change that with <code>PUT /v1/notification-preferences</code>.</p>",
    )
