"""The operation that describes all the others."""

from collections.abc import Callable, Mapping

import msgspec

from stead.control.http import openapi
from stead.control.http.operations import Document, Operation, Operations
from stead.control.http.requirements import PUBLIC


def openapi_operations(
    operations: Callable[[], list[Operation]], id_prefixes: Mapping[str, str], *, base_url: str
) -> Operations:
    """Declare `openapi.get` over whatever `operations` lists, itself included."""
    operation = Operations(tag="Description")
    written: list[Document] = []

    @operation("GET /v1/openapi.json", id="openapi.get", scope=PUBLIC)
    async def get_description() -> Document:
        """Read this description, as OpenAPI 3.1."""
        if not written:
            described = openapi.document(operations(), id_prefixes, base_url=base_url)
            written.append(Document(msgspec.json.encode(described)))
        return written[0]

    return operation
