"""A web page that uses the TypeScript client. Its origin is not that of the API."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from tests.clients.typescript import PACKAGE

PATH = "/test/page.html"


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def page_server() -> Iterator[str]:
    """The origin of the page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(PACKAGE))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
