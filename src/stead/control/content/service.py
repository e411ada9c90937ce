"""Reads and writes the content of a site."""

import base64
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET

from stead.control.content import media
from stead.control.content.jobs import BATCH, ContentWork
from stead.control.content.rules import FILE_SECONDS, ContentNotFound
from stead.control.content.schema import (
    ContentBatch,
    ContentChange,
    ContentDetailView,
    ContentFilter,
    ContentOperation,
    ContentView,
    Deleted,
    MetaView,
    NewContent,
    SiteDetail,
    SiteItem,
    SiteItems,
    TermsView,
)
from stead.control.environments.rules import EnvironmentBusy, VisibleEnvironment
from stead.control.http.operations import Call, Later
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs import service as jobs
from stead.control.jobs.presigning import content_context
from stead.control.jobs.schema import JobView
from stead.control.sites import questions
from stead.control.sites.question_pages import number_before
from stead.control.sites.rules import require_changeable
from stead.control.sites.site_numbers import find_number, require_number
from stead.shared.errors import FieldInvalid

WRITE = "cms.content:write"
MAX_BATCH_BYTES = 512 << 10
"""A message to a node is limited too."""
MIN_YEAR, MAX_YEAR = 1000, 9998
_NUMBERS = ("author", "parent", "featured_media")


async def browse(
    call: Call, env: VisibleEnvironment, query: ContentFilter, page: PageRequest
) -> Later[Page[ContentView]]:
    site = await questions.prepare(call.tx, call.context, env)
    wanted = {
        "type": query.type,
        "status": query.status,
        "before": number_before(page),
        "limit": page.limit + 1,
    }

    async def ask() -> Page[ContentView]:
        found = await site.ask("content.list", SiteItems, None, wanted)
        return page.cut([_view(each) for each in found.items], lambda each: each.id)

    return Later(ask)


async def read(call: Call, env: VisibleEnvironment, content: str) -> Later[ContentDetailView]:
    number = find_number(content, ContentNotFound)
    return await _ask_about(call, env, "content.get", {"id": number})


async def create(call: Call, env: VisibleEnvironment, wanted: NewContent) -> Later[ContentDetailView]:
    require_changeable(env.site_status)
    if wanted.type == "media":
        url = await media.presign(call, env, wanted)
        return await _ask_about(call, env, "content.create", question_of(wanted), file=url)
    media.require_none(wanted)
    return await _ask_about(call, env, "content.create", question_of(wanted))


async def update(
    call: Call, env: VisibleEnvironment, content: str, change: ContentChange
) -> Later[ContentDetailView]:
    require_changeable(env.site_status)
    number = find_number(content, ContentNotFound)
    return await _ask_about(call, env, "content.update", {"id": number, **question_of(change)})


async def delete(call: Call, env: VisibleEnvironment, content: str) -> Later[None]:
    require_changeable(env.site_status)
    site = await questions.prepare(call.tx, call.context, env)
    wanted = {"id": find_number(content, ContentNotFound)}

    async def ask() -> None:
        await site.ask("content.delete", Deleted, ContentNotFound, wanted)

    return Later(ask)


async def change_many(call: Call, env: VisibleEnvironment, wanted: ContentBatch) -> JobView:
    require_changeable(env.site_status)
    if env.status != "running":
        raise EnvironmentBusy(status=env.status)
    changes = [_change_of(number, each) for number, each in enumerate(wanted.operations)]
    encoded = msgspec.json.encode(changes)
    if len(encoded) > MAX_BATCH_BYTES:
        raise FieldInvalid(
            param="operations",
            reason=f"All operations together must not be longer than {MAX_BATCH_BYTES} bytes.",
        )
    sealed = call.sealer.seal(encoded, context=content_context(env.site_id))
    work = ContentWork(env.id, base64.b64encode(sealed).decode())
    subject = jobs.Subject(env.site_id, env.owner, env_id=env.id)
    return await jobs.enqueue(call.tx, BATCH, work, subject, scope=WRITE)


def _change_of(number: int, wanted: ContentOperation) -> tuple[str, str]:
    """The question that makes one change."""
    question: dict[str, Any] = {}
    place = f"operations.{number}"
    if wanted.action != "create":
        if wanted.id is UNSET:
            raise FieldInvalid(param=f"{place}.id", reason="The operation must name what it changes: `id`.")
        question["id"] = require_number(wanted.id, f"{place}.id")
    given = {"create": wanted.new, "update": wanted.change, "delete": None}[wanted.action]
    if given is UNSET:
        name = "new" if wanted.action == "create" else "change"
        raise FieldInvalid(param=f"{place}.{name}", reason=f"The operation needs `{name}`.")
    if isinstance(given, NewContent):
        if given.type == "media":
            raise FieldInvalid(param=f"{place}.new.type", reason="Send each file in a request of its own.")
        media.require_none(given, f"{place}.new.")
    if isinstance(given, NewContent | ContentChange):
        question |= question_of(given)
    return f"content.{wanted.action}", msgspec.json.encode(question).decode()


async def _ask_about(
    call: Call, env: VisibleEnvironment, kind: str, wanted: dict[str, Any], *, file: str = ""
) -> Later[ContentDetailView]:
    site = await questions.prepare(call.tx, call.context, env)
    seconds = FILE_SECONDS if file else questions.SECONDS
    missing = ContentNotFound if "id" in wanted else None

    async def ask() -> ContentDetailView:
        found = await site.ask(kind, SiteDetail, missing, wanted, seconds=seconds, file=file)
        return _detail(found)

    return Later(ask)


def question_of(wanted: NewContent | ContentChange) -> dict[str, Any]:
    """What the site is asked. Fields that are not given are left out."""
    made = {name: value for name in wanted.__struct_fields__ if (value := getattr(wanted, name)) is not UNSET}
    made.pop("source", None)
    for name in _NUMBERS:
        if name in made:
            made[name] = require_number(made[name], name)
    if "date" in made:
        made["date"] = _show_date(made["date"])
    if "terms" in made:
        made["terms"] = {each.taxonomy: each.names for each in made["terms"]}
    if "meta" in made:
        made["meta"] = {each.key: each.value for each in made["meta"]}
    return made


def _show_date(moment: datetime) -> str:
    """In UTC. WordPress stores years of four digits."""
    with suppress(OverflowError):
        in_utc = moment.astimezone(UTC)
        if MIN_YEAR <= in_utc.year <= MAX_YEAR:
            return in_utc.strftime("%Y-%m-%dT%H:%M:%S")
    raise FieldInvalid(param="date", reason=f"`date` must be in the years {MIN_YEAR} to {MAX_YEAR}.")


def _view(found: SiteItem) -> ContentView:
    return ContentView(
        *(str(found.id), found.type, found.status, found.title, found.slug, found.modified_at, found.date),
        *(str(found.author), found.url),
    )


def _detail(found: SiteDetail) -> ContentDetailView:
    item = _view(found)
    return ContentDetailView(
        **{name: getattr(item, name) for name in item.__struct_fields__},
        content=found.content,
        excerpt=found.excerpt,
        parent=str(found.parent) if found.parent else None,
        featured_media=str(found.featured_media) if found.featured_media else None,
        terms=[
            TermsView(taxonomy, [term.name for term in terms])
            for taxonomy, terms in sorted(found.terms.items())
        ],
        meta=[MetaView(key, _text(value)) for key, value in sorted(found.meta.items())],
        mime_type=found.mime_type or None,
        file_url=found.file_url or None,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
