"""HTTP operations on secrets."""

from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.secrets import service
from stead.control.secrets.rules import SecretNotFound, SecretsExhausted
from stead.control.secrets.schema import NewSecret, SecretView

operation = Operations(tag="Environments")

_ALL = "/v1/sites/{site_id}/environments/{env_id}/secrets"
_ONE = f"{_ALL}/{{name}}"
_READ, _WRITE = "secrets:read", "secrets:write"


@operation(f"GET {_ALL}", id="secrets.list", scope=_READ, preview=True, errors=[EnvironmentNotFound])
async def list_secrets(call: Call, environment: VisibleEnvironment, page: PageRequest) -> Page[SecretView]:
    """List the secrets and plain variables of an environment, by name, from Z to A. No secret is returned."""
    return await service.browse(call.tx, environment, page, call.sealer)


@operation(
    f"PUT {_ONE}",
    id="secrets.set",
    scope=_WRITE,
    preview=True,
    errors=[EnvironmentNotFound, SecretsExhausted],
)
async def set_secret(call: Call, environment: VisibleEnvironment, name: str, body: NewSecret) -> SecretView:
    """Set or replace a secret, or a plain variable. The next build reads it as an environment variable.

    Secrets are stored sealed and never returned. They are masked in the output of builds, also in base64,
    hexadecimal and percent-encoding. What a build writes into the files of the site is public.
    """
    return await service.save(call.tx, environment, name, body, call.sealer)


@operation(
    f"DELETE {_ONE}",
    id="secrets.delete",
    recent_sign_in=True,
    scope=_WRITE,
    preview=True,
    errors=[EnvironmentNotFound, SecretNotFound],
)
async def delete_secret(call: Call, environment: VisibleEnvironment, name: str) -> None:
    """Delete a secret. Builds that have begun keep it until they end."""
    await service.delete(call.tx, environment, name)
