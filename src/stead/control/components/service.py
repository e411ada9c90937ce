"""Reads and changes the components of a site."""

from stead.control.components.rules import ComponentNotFound, may_read, require_scope
from stead.control.components.schema import ComponentFilter, ComponentView, SiteComponent, SiteComponents
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.operations import Call, Later
from stead.control.http.pagination import Page, PageRequest
from stead.control.sites import questions
from stead.control.sites.question_pages import page_of


async def browse(
    call: Call, env: VisibleEnvironment, query: ComponentFilter, page: PageRequest
) -> Later[Page[ComponentView]]:
    """Of the kinds that the caller may read."""
    if query.kind is not None:
        require_scope(call.caller, env.role, query.kind, "read")
    site = await questions.prepare(call.tx, call.context, env)

    async def ask() -> Page[ComponentView]:
        found = await site.ask("components.list", SiteComponents, ComponentNotFound)
        chosen = [
            _view(each, env)
            for each in found.components
            if query.kind in (None, each.kind)
            and query.status in (None, each.status)
            and may_read(call.caller, env.role, each.kind)
        ]
        return page_of(chosen, page, lambda each: f"{each.kind}/{each.slug}/{each.id}")

    return Later(ask)


def _view(found: SiteComponent, env: VisibleEnvironment) -> ComponentView:
    return ComponentView(
        *(found.id, found.kind, found.type, found.slug, found.name, found.version, found.status),
        *(found.update_available, env.site_id, env.id),
    )
