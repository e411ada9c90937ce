"""The operation that serves the OpenAPI description."""

import gzip
import hashlib
from collections.abc import Callable, Collection, Mapping

import msgspec

from stead.control.http import openapi
from stead.control.http.operations import Document, Operation, Operations
from stead.control.http.requirements import PUBLIC


def openapi_operations(
    operations: Callable[[], list[Operation]],
    id_prefixes: Mapping[str, str],
    job_results: Mapping[str, Collection[str]],
    *,
    base_url: str,
) -> Operations:
    """Declare `openapi.get`. It describes all `operations`, including itself."""
    operation = Operations(tag="Description")
    cached: list[Document] = []

    @operation("GET /v1/openapi.json", id="openapi.get", scope=PUBLIC)
    async def get_description() -> Document:
        """Read this description, as OpenAPI 3.1.

        It is compressed if you accept gzip. The response has an `ETag`. If you send it in `If-None-Match`,
        the response is 304 until the description changes.
        """
        if not cached:
            body = msgspec.json.encode(
                openapi.document(operations(), id_prefixes, job_results, base_url=base_url)
            )
            digest = hashlib.sha256(body).hexdigest()[:32]
            cached.append(Document(body, gzip.compress(body, mtime=0), digest))
        return cached[0]

    return operation
