"""HTTP operations on posts, pages and media."""

from stead.control.content import service
from stead.control.content.rules import ContentNotFound
from stead.control.content.schema import (
    ContentBatch,
    ContentChange,
    ContentDetailView,
    ContentFilter,
    ContentView,
    NewContent,
)
from stead.control.environments.rules import EnvironmentBusy, VisibleEnvironment
from stead.control.environments.twins import TwinOperations
from stead.control.http.operations import Call, Later, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.sites.question_rules import QUESTION_ERRORS, SiteRefused
from stead.control.sites.rules import SiteBusy
from stead.shared.errors import ApiError

operation = Operations(tag="Content")
_twice = TwinOperations(operation)

_READ, _WRITE, _CONTENT = "cms.content:read", service.WRITE, "components.content"
_WRITING: tuple[type[ApiError], ...] = (SiteBusy, SiteRefused, *QUESTION_ERRORS)
_ONE = "/content/{content_id}"


@_twice("GET /content", id="content.list", scope=_READ, capability=_CONTENT, errors=QUESTION_ERRORS)
async def list_content(
    call: Call, environment: VisibleEnvironment, query: ContentFilter, page: PageRequest
) -> Later[Page[ContentView]]:
    """List the posts, pages and media of a site, newest first.

    Content that is added while you read pages neither moves nor hides anything.
    """
    return await service.browse(call, environment, query, page)


@_twice(
    f"GET {_ONE}",
    id="content.get",
    scope=_READ,
    capability=_CONTENT,
    errors=(ContentNotFound, *QUESTION_ERRORS),
)
async def get_content(
    call: Call, environment: VisibleEnvironment, content_id: str
) -> Later[ContentDetailView]:
    """Read a post, a page or a file."""
    return await service.read(call, environment, content_id)


@_twice("POST /content", id="content.create", scope=_WRITE, status=201, capability=_CONTENT, errors=_WRITING)
async def create_content(
    call: Call, environment: VisibleEnvironment, body: NewContent
) -> Later[ContentDetailView]:
    """Write a post or a page, or add a file that was uploaded.

    WordPress and its plugins treat it as if an administrator had written it, with one difference: scripts and
    other unsafe HTML are removed. Without `author`, the first administrator is the author.
    """
    return await service.create(call, environment, body)


@_twice(
    f"PATCH {_ONE}",
    id="content.update",
    scope=_WRITE,
    capability=_CONTENT,
    errors=(ContentNotFound, *_WRITING),
)
async def update_content(
    call: Call, environment: VisibleEnvironment, content_id: str, body: ContentChange
) -> Later[ContentDetailView]:
    """Change a post, a page or the description of a file. WordPress keeps a revision of what it was."""
    return await service.update(call, environment, content_id, body)


@_twice(
    f"DELETE {_ONE}",
    id="content.delete",
    scope=_WRITE,
    capability=_CONTENT,
    destructive="reversible",
    errors=(ContentNotFound, *_WRITING),
)
async def delete_content(call: Call, environment: VisibleEnvironment, content_id: str) -> Later[None]:
    """Move a post or a page to the trash. What is in the trash already, and any file, is deleted for good."""
    return await service.delete(call, environment, content_id)


@_twice(
    "POST /content:batch",
    id="content.batch",
    scope=_WRITE,
    job="content.batch",
    capability=_CONTENT,
    destructive="reversible",
    errors=(SiteBusy, EnvironmentBusy, JobsWaiting),
)
async def change_content(call: Call, environment: VisibleEnvironment, body: ContentBatch) -> JobView:
    """Write, change and delete up to 100 posts and pages, one after the other.

    The output of the job reports each of them. The job fails if nothing could be changed.
    """
    return await service.change_many(call, environment, body)
