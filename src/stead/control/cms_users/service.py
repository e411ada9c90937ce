"""Reads and changes the users of a site."""

import secrets
from typing import Any

from msgspec import UNSET

from stead.control.access.admin_passwords import PASSWORD_BYTES, hash_for_wordpress
from stead.control.cms_users.rules import CmsUserNotFound
from stead.control.cms_users.schema import (
    CmsUserChange,
    CmsUserDeletion,
    CmsUserFilter,
    CmsUserView,
    CmsUserWithPasswordView,
    Deleted,
    NewCmsUser,
    SiteUser,
    SiteUsers,
)
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.operations import Call, Later
from stead.control.http.pagination import Page, PageRequest
from stead.control.sites import questions
from stead.control.sites.question_pages import number_before
from stead.control.sites.rules import require_changeable
from stead.control.sites.site_numbers import find_number, require_number


async def browse(
    call: Call, env: VisibleEnvironment, query: CmsUserFilter, page: PageRequest
) -> Later[Page[CmsUserView]]:
    site = await questions.prepare(call.tx, call.context, env)
    wanted = {"role": query.role, "before": number_before(page), "limit": page.limit + 1}

    async def ask() -> Page[CmsUserView]:
        found = await site.ask("users.list", SiteUsers, None, wanted)
        return page.cut([CmsUserView(**_fields(each)) for each in found.items], lambda each: each.id)

    return Later(ask)


async def read(call: Call, env: VisibleEnvironment, user: str) -> Later[CmsUserView]:
    site = await questions.prepare(call.tx, call.context, env)
    wanted = {"id": find_number(user, CmsUserNotFound)}

    async def ask() -> CmsUserView:
        return CmsUserView(**_fields(await site.ask("users.get", SiteUser, CmsUserNotFound, wanted)))

    return Later(ask)


async def create(call: Call, env: VisibleEnvironment, wanted: NewCmsUser) -> Later[CmsUserWithPasswordView]:
    call.audit.note(login=wanted.login, role=wanted.role)
    return await _write(call, env, "users.create", wanted, {})


async def update(
    call: Call, env: VisibleEnvironment, user: str, change: CmsUserChange
) -> Later[CmsUserWithPasswordView]:
    if change.role is not UNSET:
        call.audit.note(role=change.role)
    return await _write(call, env, "users.update", change, {"id": find_number(user, CmsUserNotFound)})


async def delete(call: Call, env: VisibleEnvironment, user: str, query: CmsUserDeletion) -> Later[None]:
    require_changeable(env.site_status)
    site = await questions.prepare(call.tx, call.context, env)
    wanted: dict[str, Any] = {"id": find_number(user, CmsUserNotFound)}
    if query.reassign is not None:
        wanted["reassign"] = require_number(query.reassign, "reassign")

    async def ask() -> None:
        await site.ask("users.delete", Deleted, CmsUserNotFound, wanted)

    return Later(ask)


async def _write(
    call: Call, env: VisibleEnvironment, kind: str, wanted: NewCmsUser | CmsUserChange, more: dict[str, Any]
) -> Later[CmsUserWithPasswordView]:
    """Only a hash of a new password leaves this process."""
    require_changeable(env.site_status)
    site = await questions.prepare(call.tx, call.context, env)
    question = more | {
        name: value for name in wanted.__struct_fields__ if (value := getattr(wanted, name)) is not UNSET
    }
    delivery, password = question.pop("password_delivery"), None
    if delivery == "response":
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        question["password_hash"] = hash_for_wordpress(password)
    question["send_reset_mail"] = delivery == "reset_mail"
    missing = CmsUserNotFound if "id" in question else None

    async def ask() -> CmsUserWithPasswordView:
        found = await site.ask(kind, SiteUser, missing, question)
        return CmsUserWithPasswordView(**_fields(found), password=password)

    return Later(ask)


def _fields(found: SiteUser) -> dict[str, Any]:
    fields = {name: getattr(found, name) for name in found.__struct_fields__}
    return fields | {"id": str(found.id)}
