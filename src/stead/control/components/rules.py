"""What a component is, who may see and change it, and what can go wrong. No I/O."""

from typing import Literal

from stead.control.http.principal import Principal
from stead.shared.errors import Conflict, NotFound, RoleInsufficient, ScopeInsufficient
from stead.shared.ids import has_shape
from stead.shared.roles import MASK, Role

Kind = Literal["plugin", "theme", "module"]
Status = Literal["active", "inactive"]
ComponentType = Literal["regular", "must_use", "drop_in"]

_SCOPES: dict[str, str] = {"plugin": "cms.plugins", "module": "cms.plugins", "theme": "cms.themes"}
_KINDS: dict[str, Kind] = {"p": "plugin", "t": "theme"}
"""By the first character of an identifier after its prefix."""


class ComponentNotFound(NotFound):
    code = "component.not_found"
    message = "The component was not found."
    remedy = "List the plugins and themes of the site with `GET …/components`."


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


def may_read(caller: Principal, role: Role, kind: str) -> bool:
    scope = f"{_SCOPES[kind]}:read"
    return scope in caller.allowed and scope in MASK[role]


def require_scope(caller: Principal, role: Role, kind: str, action: Literal["read", "write"]) -> None:
    scope = f"{_SCOPES[kind]}:{action}"
    if scope not in caller.allowed:
        raise ScopeInsufficient(scope=scope)
    if scope not in MASK[role]:
        raise RoleInsufficient(role=role)
