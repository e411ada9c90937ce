"""The operation that serves the OpenAPI description."""

from collections.abc import Callable, Mapping

import msgspec

from stead.control.http import openapi
from stead.control.http.operations import Document, Operation, Operations
from stead.control.http.requirements import PUBLIC


def openapi_operations(
    operations: Callable[[], list[Operation]], id_prefixes: Mapping[str, str], *, base_url: str
) -> Operations:
    """Declare `openapi.get`. It describes all `operations`, including itself."""
    operation = Operations(tag="Description")
    cached: list[Document] = []

    @operation("GET /v1/openapi.json", id="openapi.get", scope=PUBLIC)
    async def get_description() -> Document:
        """Read this description, as OpenAPI 3.1."""
        if not cached:
            document = openapi.document(operations(), id_prefixes, base_url=base_url)
            cached.append(Document(msgspec.json.encode(document)))
        return cached[0]

    return operation
