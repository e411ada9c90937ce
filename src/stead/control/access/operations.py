"""HTTP operations on access to sites."""

from stead.control.access import admin_passwords, magic_links, service
from stead.control.access.rules import (
    READ_SCOPE,
    SCOPE,
    CredentialKindUnknown,
    MagicLinksDisabled,
    MagicLinksExceeded,
)
from stead.control.access.schema import (
    CredentialsView,
    MagicLinkView,
    NewCredentialView,
    NewMagicLink,
    NewPasswordView,
    NewSshKeys,
    PasswordReset,
    SshKeysView,
)
from stead.control.environments.rules import EnvironmentBusy, EnvironmentNotFound
from stead.control.http.operations import Call, Operations
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.sites.rules import SiteBusy, SiteNotFound, VisibleSite

operation = Operations(tag="Access")

_KEYS = "/v1/sites/{site_id}/ssh-keys"
_CREDENTIALS = "/v1/sites/{site_id}/credentials"


@operation(
    "POST /v1/sites/{site_id}/magic-link",
    id="sites.magic_link",
    scope=SCOPE,
    capability="magic_link",
    errors=[
        *(SiteNotFound, EnvironmentNotFound, EnvironmentBusy, SiteBusy),
        *(MagicLinksDisabled, MagicLinksExceeded),
    ],
)
async def create_magic_link(call: Call, site: VisibleSite, body: NewMagicLink | None) -> MagicLinkView:
    """Create a link that signs a user in to the administration of a WordPress site, once, within a minute.

    The link shows a page with a button. Only the button signs in, so a program that follows the link, such as
    a preview or a mail scanner, does not use it up. It ends when its creator loses access to the site. The
    link of a test site leads nowhere, because test sites are simulated.
    """
    return await magic_links.create(call.tx, call.caller, site, body or NewMagicLink(), call.audit)


@operation(
    "POST /v1/sites/{site_id}/admin-password/reset",
    id="access.admin_password_reset",
    recent_sign_in=True,
    destructive="irreversible",
    audit="admin_password_reset",
    scope=SCOPE,
    capability="magic_link",
    errors=[SiteNotFound, EnvironmentBusy, SiteBusy, JobsWaiting],
)
async def reset_admin_password(call: Call, site: VisibleSite) -> NewPasswordView:
    """Give the administrator of a WordPress site a new random password, which is shown only here.

    It is valid when the job has succeeded. Then the earlier password is not, and the administrator is signed
    out everywhere.
    """
    return await admin_passwords.reset(call.tx, call.sealer, site, call.audit)


@operation(f"GET {_KEYS}", id="access.ssh_keys_get", scope=READ_SCOPE, errors=[SiteNotFound])
async def get_ssh_keys(call: Call, site: VisibleSite) -> SshKeysView:
    """List the SSH keys that open the environments of a site."""
    return await service.list_ssh_keys(call.tx, site)


@operation(
    f"PUT {_KEYS}",
    id="access.ssh_keys_replace",
    recent_sign_in=True,
    scope=SCOPE,
    job="site.ssh_keys_apply",
    errors=[SiteNotFound, SiteBusy, JobsWaiting],
)
async def replace_ssh_keys(call: Call, site: VisibleSite, body: NewSshKeys) -> JobView:
    """Replace the SSH keys of a site.

    The list counts at once; the job ends when every node has it. A new key belongs to you: it is removed when
    you leave the team or lose the role, when the site gets another owner, and when the API key that you used
    is revoked. A key that is in the list already stays with its owner. To remove the key of a member with a
    higher role, that role is required. A key that was added with an API key without the scope `exec:raw`
    transfers files and opens no shell.
    """
    return await service.replace_ssh_keys(call.tx, call.caller, site, body, call.audit)


@operation(f"GET {_CREDENTIALS}", id="access.credentials_get", scope=READ_SCOPE, errors=[SiteNotFound])
async def get_credentials(call: Call, site: VisibleSite) -> CredentialsView:
    """Read where and as whom to connect to the environments of a site. No secret is ever returned."""
    context = call.context
    return await service.get_credentials(call.tx, site, host=context.ssh_host, port=context.ssh_port)


@operation(
    f"POST {_CREDENTIALS}/{{kind}}/reset",
    id="access.credentials_reset",
    recent_sign_in=True,
    destructive="irreversible",
    scope=SCOPE,
    errors=[SiteNotFound, EnvironmentNotFound, CredentialKindUnknown, SiteBusy],
)
async def reset_credential(
    call: Call, site: VisibleSite, kind: str, body: PasswordReset | None
) -> NewCredentialView:
    """Create a new password for file transfers or for the database, or replace it. It is returned only once.

    `sftp` is for programs that cannot use keys. It opens no shell and no tunnel. `database` is for whoever
    has opened a tunnel to the database with a key; the site has a password of its own, which stays. The new
    password works within seconds, and the old one does not any more. It belongs to you, like a key.
    """
    wanted = body or PasswordReset()
    return await service.reset_password(call.tx, call.caller, site, kind, wanted, call.audit)
