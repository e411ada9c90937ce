"""Declares an operation at two paths: below a site, which means its production, and below an environment."""

from collections.abc import Callable
from typing import Any

from stead.control.environments.rules import EnvironmentNotFound, VisibleProduction
from stead.control.http.operations import Handler, Operations
from stead.control.sites.rules import SiteNotFound
from stead.shared.errors import ApiError

SUFFIX = "_in_environment"
"""Ends the id of the second form."""
_SITE, _ENVIRONMENT = "/v1/sites/{site_id}", "/v1/sites/{site_id}/environments/{env_id}"


class TwinOperations:
    """The handler has a parameter `environment: VisibleEnvironment`."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def __call__(
        self,
        route: str,
        *,
        id: str,  # noqa: A002 - the name in the API description
        errors: tuple[type[ApiError], ...] = (),
        **declared: Any,
    ) -> Callable[[Handler], Handler]:
        """`route` is the method and what follows the site, for example `GET /components`."""
        method, path = route.split()
        resource, _, action = id.partition(".")
        declared = {"audit": f"{resource.removesuffix('s')}_{action}", "preview": True, **declared}
        in_site = self._operations(
            f"{method} {_SITE}{path}",
            id=id,
            resources={"environment": VisibleProduction},
            errors=[SiteNotFound, *errors],
            **declared,
        )
        in_environment = self._operations(
            f"{method} {_ENVIRONMENT}{path}",
            id=f"{id}{SUFFIX}",
            errors=[EnvironmentNotFound, *errors],
            **declared,
        )

        def declare(handler: Handler) -> Handler:
            return in_environment(in_site(handler))

        return declare
