"""HTTP operations on the users of a site."""

from stead.control.cms_users import service
from stead.control.cms_users.rules import CmsUserNotFound
from stead.control.cms_users.schema import (
    CmsUserChange,
    CmsUserDeletion,
    CmsUserFilter,
    CmsUserView,
    CmsUserWithPasswordView,
    NewCmsUser,
)
from stead.control.environments.rules import VisibleEnvironment
from stead.control.environments.twins import TwinOperations
from stead.control.http.operations import Call, Later, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.sites.question_rules import QUESTION_ERRORS, SiteRefused
from stead.control.sites.rules import SiteBusy
from stead.shared.errors import ApiError

operation = Operations(tag="Users of a site")
_twice = TwinOperations(operation)

_READ, _WRITE, _USERS = "cms.users:read", "cms.users:write", "components.users"
_WRITING: tuple[type[ApiError], ...] = (SiteBusy, SiteRefused, *QUESTION_ERRORS)
_ONE = "/users/{user_id}"


@_twice("GET /users", id="cms_users.list", scope=_READ, capability=_USERS, errors=QUESTION_ERRORS)
async def list_cms_users(
    call: Call, environment: VisibleEnvironment, query: CmsUserFilter, page: PageRequest
) -> Later[Page[CmsUserView]]:
    """List the users of a site, newest first."""
    return await service.browse(call, environment, query, page)


@_twice(
    f"GET {_ONE}",
    id="cms_users.get",
    scope=_READ,
    capability=_USERS,
    errors=(CmsUserNotFound, *QUESTION_ERRORS),
)
async def get_cms_user(call: Call, environment: VisibleEnvironment, user_id: str) -> Later[CmsUserView]:
    """Read a user of a site."""
    return await service.read(call, environment, user_id)


@_twice("POST /users", id="cms_users.create", scope=_WRITE, status=201, capability=_USERS, errors=_WRITING)
async def create_cms_user(
    call: Call, environment: VisibleEnvironment, body: NewCmsUser
) -> Later[CmsUserWithPasswordView]:
    """Create a user of a site."""
    return await service.create(call, environment, body)


@_twice(
    f"PATCH {_ONE}",
    id="cms_users.update",
    scope=_WRITE,
    capability=_USERS,
    errors=(CmsUserNotFound, *_WRITING),
)
async def update_cms_user(
    call: Call, environment: VisibleEnvironment, user_id: str, body: CmsUserChange
) -> Later[CmsUserWithPasswordView]:
    """Change a user of a site, or give the user a new password.

    A new password signs the user out everywhere. The last administrator keeps that role.
    """
    return await service.update(call, environment, user_id, body)


@_twice(
    f"DELETE {_ONE}",
    id="cms_users.delete",
    scope=_WRITE,
    capability=_USERS,
    errors=(CmsUserNotFound, *_WRITING),
)
async def delete_cms_user(
    call: Call, environment: VisibleEnvironment, user_id: str, query: CmsUserDeletion
) -> Later[None]:
    """Delete a user of a site. The last administrator cannot be deleted.

    If the user has written something, `reassign` must name the user who gets it.
    """
    return await service.delete(call, environment, user_id, query)
