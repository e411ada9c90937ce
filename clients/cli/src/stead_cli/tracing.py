"""`STEAD_DEBUG=api`: a line on stderr for each request. Neither headers nor bodies, which contain secrets."""

import time
from collections.abc import Mapping
from typing import Any

from stead_cli.texts import write_notice
from stead_sdk import Stead


def trace_requests(client: Stead) -> None:
    connections = client._connections  # noqa: SLF001 - the program and the library are released together
    start = connections._start  # noqa: SLF001

    def traced(method: str, url: str, headers: Mapping[str, str], *more: Any) -> Any:
        began = time.monotonic()
        result = "failed"
        try:
            found = start(method, url, headers, *more)
            result = f"{found[1]} {found[2].get('x-request-id', '')}".rstrip()
        finally:
            spent = (time.monotonic() - began) * 1000
            # The query of an address of the object store is a signature.
            write_notice(f"{method} {url.partition('?')[0]} {result} {spent:.0f} ms")
        return found

    connections._start = traced  # type: ignore[method-assign,assignment]  # noqa: SLF001
