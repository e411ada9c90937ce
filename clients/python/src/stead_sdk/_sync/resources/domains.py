# Generated from `_async/resources/domains.py` by `make generate`.
"""Domains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.jobs import JobHandle
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource, result_of

if TYPE_CHECKING:
    pass


class Domains(Resource):
    def list(self, site_id: str, env_id: str, *, limit: int | Omit = OMIT) -> Pager[types.Domain]:
        """List the domains of an environment, newest first. Its preview host is not listed.

        Scopes: `domains:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/domains"
        return Pager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Domain
        )

    def attach(
        self,
        site_id: str,
        env_id: str,
        *,
        hostname: str,
        redirect_to_primary: bool | Omit = OMIT,
        include_www: bool | Omit = OMIT,
    ) -> JobHandle[dict[str, Any]]:
        """Attach a domain to an environment.

        The domain is served, and gets a certificate, once it is verified: it points to this platform, or
        has the TXT record in `challenge`. Read the domain to see what is missing. Public suffixes and names
        of the platform are refused.

        `*.example.com` is every name directly below `example.com` that is not attached itself. It needs the
        DNS zone of the domain here, and the TXT record in any case.

        Scopes: `domains:write`.
        """
        response = self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/domains",
            body={
                "hostname": hostname,
                "redirect_to_primary": redirect_to_primary,
                "include_www": include_www,
            },
            idempotent="key",
        )
        return self._handle(response, result_of)

    def get(self, site_id: str, env_id: str, domain_id: str) -> types.Domain:
        """Read a domain: whether it is verified, and otherwise what is missing.

        Scopes: `domains:read`.
        """
        return returned(
            types.Domain,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/domains/{in_path(domain_id)}",
            ),
        )

    def detach(self, site_id: str, env_id: str, domain_id: str) -> None:
        """Detach a domain. The edges stop serving it within seconds. The primary domain cannot be detached.

        For 30 days, other accounts need the TXT record to attach the name.

        Scopes: `domains:write`.
        """
        self._client._call(
            "DELETE",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/domains/{in_path(domain_id)}",
        )

    def verify(self, site_id: str, env_id: str, domain_id: str) -> types.Domain:
        """Look a domain up again now, at most every 10 seconds.

        A worker does so within seconds; read the domain to see the result. Pending domains are also looked
        up automatically, less often with time, for 7 days.

        Scopes: `domains:write`.
        """
        return returned(
            types.Domain,
            self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/domains/{in_path(domain_id)}/verify",
                idempotent="key",
            ),
        )

    def make_primary(self, site_id: str, env_id: str, domain_id: str) -> JobHandle[dict[str, Any]]:
        """Make a verified domain of production the primary one, which is the `domain` of the site.

        The former primary domain stays attached.

        Scopes: `domains:write`.
        """
        response = self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/domains/{in_path(domain_id)}/primary",
            idempotent="key",
        )
        return self._handle(response, result_of)
