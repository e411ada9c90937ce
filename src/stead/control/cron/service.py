"""Reads and changes the scheduled events of a site."""

import base64
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET

from stead.control.cron.rules import CronNotFound, parse_schedule, require_cron_id, show_schedule
from stead.control.cron.schema import CronChange, CronView, Deleted, NewCron, SiteEvent, SiteEvents
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import VisibleEnvironment
from stead.control.exec.jobs import RUN_COMMAND, CommandWork
from stead.control.http.operations import Call, Later
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs import service as jobs
from stead.control.jobs.presigning import command_context
from stead.control.jobs.schema import JobView
from stead.control.sites import questions
from stead.control.sites.question_pages import page_of
from stead.control.sites.question_rules import SiteAnswerInvalid
from stead.control.sites.rules import require_changeable
from stead.shared.errors import FieldInvalid

WRITE = "cron:write"
_SORTABLE = 12


async def browse(call: Call, env: VisibleEnvironment, page: PageRequest) -> Later[Page[CronView]]:
    site = await questions.prepare(call.tx, call.context, env)

    async def ask() -> Page[CronView]:
        found = await site.ask("cron.list", SiteEvents, None)
        by_id = {each.id: each for each in found.events}
        ordered = page_of(
            list(by_id.values()), page, lambda each: f"{str(each.time).zfill(_SORTABLE)}{each.id}"
        )
        return Page([_view(each) for each in ordered.items], ordered.next_cursor)

    return Later(ask)


async def read(call: Call, env: VisibleEnvironment, id_: str) -> Later[CronView]:
    return await _ask_about(call, env, "cron.get", {"id": require_cron_id(id_)})


async def create(call: Call, env: VisibleEnvironment, wanted: NewCron) -> Later[CronView]:
    require_changeable(env.site_status)
    recurrence, time = parse_schedule(wanted.schedule)
    question = {"hook": wanted.hook, "args": wanted.args, "recurrence": recurrence, "time": time}
    return await _ask_about(call, env, "cron.create", question)


async def update(call: Call, env: VisibleEnvironment, id_: str, change: CronChange) -> Later[CronView]:
    """An event that runs once gets another identifier when its time or its arguments change."""
    require_changeable(env.site_status)
    question: dict[str, Any] = {"id": require_cron_id(id_)}
    if change.args is not UNSET:
        question["args"] = change.args
    if change.schedule is not UNSET:
        question["recurrence"], question["time"] = parse_schedule(change.schedule)
    return await _ask_about(call, env, "cron.update", question)


async def delete(call: Call, env: VisibleEnvironment, id_: str) -> Later[None]:
    require_changeable(env.site_status)
    site = await questions.prepare(call.tx, call.context, env)
    question = {"id": require_cron_id(id_)}

    async def ask() -> None:
        await site.ask("cron.delete", Deleted, CronNotFound, question)

    return Later(ask)


async def run(call: Call, env: VisibleEnvironment, id_: str) -> Later[JobView]:
    require_changeable(env.site_status)
    site = await questions.prepare(call.tx, call.context, env)
    question, sealer = {"id": require_cron_id(id_)}, call.sealer

    async def enqueue(tx: Tx, event: SiteEvent) -> JobView:
        if event.hook.startswith("-"):
            raise FieldInvalid(param="cron_id", reason="The platform cannot run a hook with this name.")
        if not event.hook.isprintable():
            raise SiteAnswerInvalid(reason="the hook has control characters in its name")
        args = ["cron", "event", "run", event.hook]
        sealed = sealer.seal(msgspec.json.encode(args), context=command_context(env.site_id))
        work = CommandWork(env.id, "cms-cli", base64.b64encode(sealed).decode(), restricted=True)
        subject = jobs.Subject(env.site_id, env.owner, env_id=env.id)
        return await jobs.enqueue(tx, RUN_COMMAND, work, subject, scope=WRITE)

    return Later(site.asking("cron.get", SiteEvent, CronNotFound, question), enqueue)


async def _ask_about(
    call: Call, env: VisibleEnvironment, kind: str, question: dict[str, Any]
) -> Later[CronView]:
    site = await questions.prepare(call.tx, call.context, env)
    missing = CronNotFound if "id" in question else None

    async def ask() -> CronView:
        return _view(await site.ask(kind, SiteEvent, missing, question))

    return Later(ask)


def _view(found: SiteEvent) -> CronView:
    return CronView(
        *(found.id, found.hook, show_schedule(found.recurrence, found.time)),
        datetime.fromtimestamp(found.time, UTC),
        found.interval if found.recurrence else None,
        [each if isinstance(each, str) else msgspec.json.encode(each).decode() for each in found.args],
    )
