# Generated from the API description by `make generate`.
"""Access."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.jobs import AsyncJobHandle
from stead_sdk._async.resource import AsyncResource, result_of
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stead_sdk import params


class AsyncAccess(AsyncResource):
    async def admin_password_reset(self, site_id: str) -> types.NewPassword:
        """Give the administrator of a WordPress site a new random password, which is shown only here.

        It is valid when the job has succeeded. Then the earlier password is not, and the administrator is
        signed out everywhere.

        Scopes: `credentials:write`.
        """
        return returned(
            types.NewPassword,
            await self._client._call(
                "POST", f"/v1/sites/{in_path(site_id)}/admin-password/reset", idempotent="key"
            ),
        )

    async def ssh_keys_get(self, site_id: str) -> types.SshKeys:
        """List the SSH keys that open the environments of a site.

        Scopes: `credentials:read`.
        """
        return returned(
            types.SshKeys, await self._client._call("GET", f"/v1/sites/{in_path(site_id)}/ssh-keys")
        )

    async def ssh_keys_replace(
        self, site_id: str, *, keys: Sequence[params.NewSshKey]
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Replace the SSH keys of a site.

        The list counts at once; the job ends when every node has it. A new key belongs to you: it is
        removed when you leave the team or lose the role, when the site gets another owner, and when the API
        key that you used is revoked. A key that is in the list already stays with its owner. To remove the
        key of a member with a higher role, that role is required. A key that was added with an API key
        without the scope `exec:raw` transfers files and opens no shell.

        Scopes: `credentials:write`.
        """
        response = await self._client._call(
            "PUT", f"/v1/sites/{in_path(site_id)}/ssh-keys", body={"keys": keys}
        )
        return self._handle(response, result_of)

    async def credentials_get(self, site_id: str) -> types.Credentials:
        """Read where and as whom to connect to the environments of a site. No secret is ever returned.

        Scopes: `credentials:read`.
        """
        return returned(
            types.Credentials, await self._client._call("GET", f"/v1/sites/{in_path(site_id)}/credentials")
        )

    async def credentials_reset(
        self, site_id: str, kind: str, *, environment: str | Omit = OMIT
    ) -> types.NewCredential:
        """Create a new password for file transfers or for the database, or replace it. It is returned only
        once.

        `sftp` is for programs that cannot use keys. It opens no shell and no tunnel. `database` is for
        whoever has opened a tunnel to the database with a key; the site has a password of its own, which
        stays. The new password works within seconds, and the old one does not any more. It belongs to you,
        like a key.

        Scopes: `credentials:write`.
        """
        return returned(
            types.NewCredential,
            await self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/credentials/{in_path(kind)}/reset",
                body={"environment": environment},
                may_lack_body=True,
                idempotent="key",
            ),
        )
