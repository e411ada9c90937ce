"""Queues a purge of the page cache, inside the caller's transaction."""

from urllib.parse import urlsplit

from msgspec import UNSET

from stead.control.cache.jobs import PURGE_CACHE, PurgeWork
from stead.control.cache.schema import NewPurge
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import VisibleEnvironment
from stead.control.jobs import service as jobs
from stead.control.jobs.schema import JobView
from stead.control.sites.rules import require_changeable
from stead.shared.errors import FieldInvalid


async def purge(tx: Tx, env: VisibleEnvironment, wanted: NewPurge | None) -> JobView:
    require_changeable(env.site_status, env.status)
    work = PurgeWork(env.id, **_selector(wanted or NewPurge()))
    subject = jobs.Subject(env.site_id, env.owner, env_id=env.id)
    return await jobs.enqueue(tx, PURGE_CACHE, work, subject, scope="cache:write")


def _selector(wanted: NewPurge) -> dict[str, str]:
    given = {name for name in ("url", "tag") if getattr(wanted, name) is not UNSET}
    needed = {"all": set(), "url": {"url"}, "tag": {"tag"}}[wanted.type]
    if given != needed:
        param = next(iter(given ^ needed))
        verb = "is required to purge" if param in needed else "is not allowed when you purge"
        raise FieldInvalid(param=param, reason=f"`{param}` {verb} by `{wanted.type}`.")
    if isinstance(wanted.url, str):
        return {"url": _request_target(wanted.url)}
    return {"tag": wanted.tag} if isinstance(wanted.tag, str) else {}


def _request_target(url: str) -> str:
    """The path and query, as a visitor requests them."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise FieldInvalid(param="url", reason="It is not a URL.") from None
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
