# Generated from `_async/resources/cron.py` by `make generate`.
"""Cron."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.jobs import JobHandle
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource, result_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class Cron(Resource):
    def list(self, site_id: str, *, limit: int | Omit = OMIT) -> Pager[types.Cron]:
        """List the scheduled events of a site, the next one first.

        Scopes: `cron:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/cron"
        return Pager(lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Cron)

    def create(
        self,
        site_id: str,
        *,
        hook: str,
        schedule: str,
        args: Sequence[str | int | float | bool | None] | Omit = OMIT,
    ) -> types.Cron:
        """Schedule an event. A repeated event runs for the first time when its interval has passed.

        Scopes: `cron:write`.
        """
        return returned(
            types.Cron,
            self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/cron",
                body={"hook": hook, "schedule": schedule, "args": args},
                idempotent="key",
            ),
        )

    def list_in_environment(
        self, site_id: str, env_id: str, *, limit: int | Omit = OMIT
    ) -> Pager[types.Cron]:
        """List the scheduled events of a site, the next one first.

        Scopes: `cron:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/cron"
        return Pager(lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Cron)

    def create_in_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        hook: str,
        schedule: str,
        args: Sequence[str | int | float | bool | None] | Omit = OMIT,
    ) -> types.Cron:
        """Schedule an event. A repeated event runs for the first time when its interval has passed.

        Scopes: `cron:write`.
        """
        return returned(
            types.Cron,
            self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/cron",
                body={"hook": hook, "schedule": schedule, "args": args},
                idempotent="key",
            ),
        )

    def get(self, site_id: str, cron_id: str) -> types.Cron:
        """Read a scheduled event. A repeated event keeps its id from run to run.

        Scopes: `cron:read`.
        """
        return returned(
            types.Cron, self._client._call("GET", f"/v1/sites/{in_path(site_id)}/cron/{in_path(cron_id)}")
        )

    def update(
        self,
        site_id: str,
        cron_id: str,
        *,
        schedule: str | Omit = OMIT,
        args: Sequence[str | int | float | bool | None] | Omit = OMIT,
    ) -> types.Cron:
        """Change when an event runs, or its arguments.

        The id depends on the hook, the arguments and the recurrence, or the time of an event that runs
        once. If one of them changes, the response has the new id.

        Scopes: `cron:write`.
        """
        return returned(
            types.Cron,
            self._client._call(
                "PATCH",
                f"/v1/sites/{in_path(site_id)}/cron/{in_path(cron_id)}",
                body={"schedule": schedule, "args": args},
                idempotent="none",
            ),
        )

    def delete(self, site_id: str, cron_id: str) -> None:
        """Remove a scheduled event.

        Scopes: `cron:write`.
        """
        self._client._call("DELETE", f"/v1/sites/{in_path(site_id)}/cron/{in_path(cron_id)}")

    def get_in_environment(self, site_id: str, env_id: str, cron_id: str) -> types.Cron:
        """Read a scheduled event. A repeated event keeps its id from run to run.

        Scopes: `cron:read`.
        """
        return returned(
            types.Cron,
            self._client._call(
                "GET", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/cron/{in_path(cron_id)}"
            ),
        )

    def update_in_environment(
        self,
        site_id: str,
        env_id: str,
        cron_id: str,
        *,
        schedule: str | Omit = OMIT,
        args: Sequence[str | int | float | bool | None] | Omit = OMIT,
    ) -> types.Cron:
        """Change when an event runs, or its arguments.

        The id depends on the hook, the arguments and the recurrence, or the time of an event that runs
        once. If one of them changes, the response has the new id.

        Scopes: `cron:write`.
        """
        return returned(
            types.Cron,
            self._client._call(
                "PATCH",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/cron/{in_path(cron_id)}",
                body={"schedule": schedule, "args": args},
                idempotent="none",
            ),
        )

    def delete_in_environment(self, site_id: str, env_id: str, cron_id: str) -> None:
        """Remove a scheduled event.

        Scopes: `cron:write`.
        """
        self._client._call(
            "DELETE", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/cron/{in_path(cron_id)}"
        )

    def run(self, site_id: str, cron_id: str) -> JobHandle[dict[str, Any]]:
        """Run an event now. WP-CLI runs all events of its hook; what they print is the output of the job.

        Scopes: `cron:write`.
        """
        response = self._client._call(
            "POST", f"/v1/sites/{in_path(site_id)}/cron/{in_path(cron_id)}/run", idempotent="key"
        )
        return self._handle(response, result_of)

    def run_in_environment(self, site_id: str, env_id: str, cron_id: str) -> JobHandle[dict[str, Any]]:
        """Run an event now. WP-CLI runs all events of its hook; what they print is the output of the job.

        Scopes: `cron:write`.
        """
        response = self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/cron/{in_path(cron_id)}/run",
            idempotent="key",
        )
        return self._handle(response, result_of)
