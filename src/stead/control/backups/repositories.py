"""The repository of a site: created by the first snapshot, and opened for one job of a node at a time."""

import base64

from stead.control.backups import store
from stead.control.engines.postgres import Tx
from stead.control.jobs.definition import WorkerContext
from stead.control.jobs.repository_access import describe_access
from stead.control.wordpress import service as wordpress
from stead.protocol.work import RepositoryAccess
from stead.shared.repository_tokens import Access

MB = 1_000_000
_SPARE_MB = 64
"""What a repository may need besides the content of a site."""


async def build_access(tx: Tx, site: str, access: Access) -> RepositoryAccess:
    """How a node reaches the repository. The password is opened and the token signed when the command is
    sent. A test site has no repository."""
    found = await store.find_repository(tx, site)
    if found is None:
        return RepositoryAccess("", "")
    password, _ = found
    added = (await wordpress.get_promised_mb(tx, site) + _SPARE_MB) * MB if access == "append" else 0
    return RepositoryAccess(describe_access(access, added), base64.b64encode(password).decode())


async def ensure_repository(context: WorkerContext, site: str) -> None:
    raise NotImplementedError
