"""What a component is, who may see and change it, and what can go wrong. No I/O."""

import re
from typing import Literal

from stead.control.http.principal import Principal
from stead.shared.errors import Conflict, FieldInvalid, NotFound, RoleInsufficient, ScopeInsufficient
from stead.shared.ids import has_shape
from stead.shared.roles import MASK, Role
from stead.shared.wording import quote

Kind = Literal["plugin", "theme", "module"]
Status = Literal["active", "inactive"]
BatchAction = Literal["update", "activate", "deactivate", "delete"]
ComponentType = Literal["regular", "must_use", "drop_in"]

_SLUG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_SCOPES: dict[str, str] = {"plugin": "cms.plugins", "module": "cms.plugins", "theme": "cms.themes"}
_KINDS: dict[str, Kind] = {"p": "plugin", "t": "theme"}
"""By the first character of an identifier after its prefix."""


class ComponentNotFound(NotFound):
    code = "component.not_found"
    message = "The component was not found."
    remedy = "List the plugins and themes of the site with `GET …/components`."


class ComponentFixed(Conflict):
    code = "component.fixed"
    message = "WordPress cannot change this component: {reason}"
    remedy = "Change its files over SFTP, or choose another component."


class ComponentFailed(Conflict):
    code = "component.failed"
    message = "The component could not be changed: {reason}"
    remedy = "The component is what it was before. Read the output of the job."


class ComponentUnhealthy(Conflict):
    code = "component.unhealthy"
    message = "The component was changed back, because the site did not answer any more: {reason}"
    remedy = "Try the change in a staging environment, and correct what the message names."


class ComponentVulnerable(Conflict):
    code = "component.vulnerable"
    message = "The version has a known vulnerability: {reason}"
    remedy = "Choose a version that is not affected, or repeat the request with `force`."


class NotInRegistry(Conflict):
    code = "component.not_in_registry"
    message = "The component cannot be downloaded: {reason}"
    remedy = "Check the slug and the version, or upload the archive."


class RegistryFailed(Conflict):
    code = "component.registry_failed"
    message = "The registry of plugins and themes failed: {reason}"
    remedy = "Try again later. If the error persists, contact the operator of the platform."


class ComponentInGit(Conflict):
    code = "component.managed_in_git"
    message = "The code of this site comes from its repository."
    remedy = "Change the plugin or theme in the repository, for example with Composer, and push."


def kind_of(component: str) -> Kind:
    """The kind of a component, which its identifier shows. Raises ComponentNotFound."""
    kind = _KINDS.get(component[5:6]) if has_shape("comp", component) else None
    if kind is None:
        raise ComponentNotFound
    return kind


def is_slug(text: str) -> bool:
    return _SLUG.fullmatch(text) is not None and ".." not in text


def require_slug(slug: str, param: str) -> None:
    if not is_slug(slug):
        raise FieldInvalid(param=param, reason=f"{quote(slug)} is not a slug. Use for example: akismet.")


def require_version(version: str, param: str) -> None:
    if _VERSION.fullmatch(version) is None:
        raise FieldInvalid(
            param=param, reason=f"{quote(version)} is not a version. Use `latest`, or for example: 5.3.1."
        )


def may_read(caller: Principal, role: Role, kind: str) -> bool:
    scope = f"{_SCOPES[kind]}:read"
    return scope in caller.allowed and scope in MASK[role]


def require_scope(caller: Principal, role: Role, kind: str, action: Literal["read", "write"]) -> None:
    scope = f"{_SCOPES[kind]}:{action}"
    if scope not in caller.allowed:
        raise ScopeInsufficient(scope=scope)
    if scope not in MASK[role]:
        raise RoleInsufficient(role=role)
