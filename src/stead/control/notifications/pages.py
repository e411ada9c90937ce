"""The page behind the unsubscribe link of every notification email."""

from stead.control.engines.postgres import Database
from stead.control.http.error_pages import page
from stead.control.http.web import HtmlResponse, Route, WebRequest, WebResponse
from stead.control.notifications.unsubscribing import PATH, read_token, unsubscribe
from stead.control.sealing import Sealer

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_INVALID = page("Not found", "<h1>This link is not valid</h1><p>Perhaps a part of it is missing.</p>")


def unsubscribe_routes(database: Database, sealer: Sealer) -> list[Route]:
    """GET only shows the page, because mail programs follow links. The button and one-click requests POST."""

    async def show(request: WebRequest) -> WebResponse:
        wanted = read_token(sealer, request.query_params.get("token", ""))
        if wanted is None:
            return HtmlResponse(_INVALID, 404, headers=_HEADERS)
        return HtmlResponse(_confirmation_page(wanted.categories), headers=_HEADERS)

    async def confirm(request: WebRequest) -> WebResponse:
        done = await unsubscribe(database, sealer, request.query_params.get("token", ""))
        if done is None:
            return HtmlResponse(_INVALID, 404, headers=_HEADERS)
        return HtmlResponse(_done_page(done.categories), headers=_HEADERS)

    return [
        Route(PATH, show, methods=["GET"]),
        Route(PATH, confirm, methods=["POST"]),
    ]


def _confirmation_page(categories: list[str]) -> str:
    return page(
        "Unsubscribe",
        f"<h1>Unsubscribe?</h1><p>You will no longer get emails about: {', '.join(categories)}."
        ' You keep getting notifications.</p><form method="post"><button>Unsubscribe</button></form>',
    )


def _done_page(categories: list[str]) -> str:
    return page(
        "Unsubscribed",
        f"<h1>Unsubscribed</h1><p>You no longer get emails about: {', '.join(categories)}."
        " You can change that with <code>PUT /v1/notification-preferences</code>.</p>",
    )
